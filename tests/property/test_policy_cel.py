"""Whatever is written as a condition is refused at its place, or run in bounded time."""

from time import process_time

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.policy.cel.compiler import (
    BOOL,
    DOUBLE,
    INT,
    STRING,
    EvaluationError,
    Expression,
    Scope,
    compile_condition,
)
from fairlead.policy.cel.errors import InvalidCondition
from fairlead.policy.cel.variables import VARIABLES, expression, sample_values

_VALUES = sample_values()
_TYPES = {name: each.type for name, each in VARIABLES.items()}
_WORDS = st.sampled_from(
    [
        *VARIABLES,
        *("0", "1", "2.5", "-3", "9223372036854775807", "'a'", '"free"', "true", "false"),
        *("&&", "||", "!", "==", "!=", "<", ">=", "+", "-", "*", "/", "%", "?", ":", "in"),
        *(
            "(",
            ")",
            "[",
            "]",
            ",",
            ".",
            "has(",
            "size(",
            "int(",
            "double(",
            ".tier",
            "['tier']",
        ),
        *(".startsWith(", ".matches(", ".all(", "{", "}", "'", "\\", "null", "job.kind", "é"),
    ]
)
_LEAVES = {
    BOOL: ["true", "false", "lane.waiting", "has(lane.labels.tier)", "'tier' in lane.labels"],
    INT: ["0", "7", "-3", "hour", "minute", "workers.free", "lane.in_flight", "size('ab')"],
    DOUBLE: ["0.0", "2.5", "workers.free_ratio", "lane.oldest_wait_s", "double(hour)"],
    STRING: ["'a'", "''", "lane.queue", "lane.tenant", "'default'"],
}
_OF_PARSERS = ("overload", "token", "expecting", "input '", "EOF", "viable", "_&&_", "literal")
"""Words of parsers, which messages must not contain."""
_COMPARED = {
    INT: ["0", "-1", "12", "3", "hour", "workers.slots", "lane.in_flight"],
    DOUBLE: ["0.0", "-0.0", "1.5", "1e300", "12.0", "workers.free_ratio", "lane.oldest_wait_s"],
    STRING: ["''", "'default'", "'é'", "'z'", "lane.queue", "lane.tenant"],
}
_SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_KINDS = st.sampled_from([BOOL, INT, DOUBLE, STRING])
_ORDERED = st.sampled_from([INT, DOUBLE, STRING])
_NUMBERS = st.sampled_from([INT, DOUBLE])
_BOOLS = st.sampled_from(["true", "false", "lane.waiting"])
_PARTS = {"&&": 2, "||": 2, "?": 3, "!": 1, "==": 2}
_JOINED = st.sampled_from([*_PARTS])
_LEAF = {kind: st.sampled_from(texts) for kind, texts in _LEAVES.items()}
_SIDE = {kind: st.sampled_from(texts) for kind, texts in _COMPARED.items()}
_OPERATOR = {
    BOOL: st.sampled_from(["&&", "||", "?"]),
    INT: st.sampled_from("+-*/%?"),
    DOUBLE: st.sampled_from("+-*/?"),
    STRING: st.sampled_from("+?"),
}


@st.composite
def comparing(draw: st.DrawFn, depth: int = 4) -> str:
    """Return a condition that only compares; numbers of both kinds have an order."""
    if not depth or draw(st.booleans()):
        kind = draw(_KINDS)
        if kind == BOOL:
            return draw(_BOOLS)
        sign = draw(_SIGNS)
        mixed = kind != STRING and sign[0] in "<>"
        other = draw(_NUMBERS) if mixed else kind
        return f"{draw(_SIDE[kind])} {sign} {draw(_SIDE[other])}"
    sign = draw(_JOINED)
    parts = [f"({draw(comparing(depth - 1))})" for _ in range(_PARTS[sign])]
    if sign == "!":
        return f"!{parts[0]}"
    return f"{parts[0]} ? {parts[1]} : {parts[2]}" if sign == "?" else sign.join(parts)


@st.composite
def typed(draw: st.DrawFn, kind: str, depth: int = 3) -> str:
    """Return an expression of a type, as text."""
    if not depth or draw(st.booleans()):
        return draw(_LEAF[kind])
    below = depth - 1
    if kind == BOOL and draw(st.booleans()):
        of = draw(_ORDERED)
        sign = draw(_SIGNS)
        return f"({draw(typed(of, below))} {sign} {draw(typed(of, below))})"
    sign = draw(_OPERATOR[kind])
    left, right = draw(typed(kind, below)), draw(typed(kind, below))
    if sign == "?":
        return f"({draw(typed(BOOL, below))} ? {left} : {right})"
    return f"({left} {sign} {right})"


def read(text: str) -> Expression | InvalidCondition:
    """Return an expression, or why it is refused."""
    try:
        return expression(text)
    except InvalidCondition as error:
        return error


def ran(found: Expression, sample: Scope) -> bool | EvaluationError:
    """Return its value for a sample, or why there is none."""
    try:
        return found.run(sample)
    except EvaluationError as fault:
        return fault


def check(text: str) -> None:
    """Assert that it is refused at a place inside the text, or is true or false or neither."""
    found = read(text)
    if isinstance(found, InvalidCondition):
        assert 1 <= found.column <= len(text) + 1
        assert len(str(found)) > 8
        assert not [word for word in _OF_PARSERS if word in str(found)]
    else:
        assert all(isinstance(ran(found, sample), bool | EvaluationError) for sample in _VALUES)


@given(st.lists(_WORDS, max_size=30).map(" ".join))
@example("(" * 500 + "true" + ")" * 500)
@example("!" * 1000 + "true")
@example("-" * 1000 + "hour")
@example("[" * 500)
@example("true ? " * 100)
@example("hour.a" * 100)
def test_any_words_are_refused_at_their_place_or_run(text: str) -> None:
    """Never a traceback, and no depth that the interpreter has not."""
    check(text)


@given(st.text(max_size=80))
@example("\x00")
def test_any_text_is_refused_at_its_place_or_run(text: str) -> None:
    """Whatever a file holds."""
    check(text)


@given(typed(BOOL))
def test_what_fits_is_read_and_has_a_value_in_bounded_time(text: str) -> None:
    """Each part is run once at most, so a sample takes microseconds; ten times that pass."""
    found = expression(text)

    began = process_time()
    for sample in _VALUES:
        ran(found, sample)
    assert process_time() - began < len(_VALUES) * 0.001
    check(text)


@given(comparing())
@example("9007199254740993 == 9007199254740992")
@example("9007199254740993 < 9007199254740992.0 || 9007199254740993 > 9007199254740992.0")
@example("'\\U0001F600' > '\uffff'")
def test_what_only_compares_means_what_the_package_says(text: str) -> None:
    """It is run in a fraction of the time, and as a value of the same type."""
    ours, theirs = expression(text), compile_condition(text, _TYPES, by_package=True)

    for sample in _VALUES:
        assert theirs.run(sample) is ours.run(sample)


@given(typed(BOOL))
def test_whoever_runs_a_condition_it_means_the_same(text: str) -> None:
    """Also with functions and sums in it, and where it has no value."""
    ours, theirs = expression(text), compile_condition(text, _TYPES, by_package=True)

    for sample in _VALUES:
        assert str(ran(theirs, sample)) == str(ran(ours, sample))
