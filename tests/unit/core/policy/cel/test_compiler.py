"""Conditions mean what CEL says, and what cannot be used is refused where it goes wrong."""

import pytest

from fairlead.policy.cel import fast_path
from fairlead.policy.cel.compiler import BYTES_MAX, EvaluationError, compile_condition
from fairlead.policy.cel.errors import InvalidCondition

VARIABLES = {
    "n": "int",
    "zero": "int",
    "x": "double",
    "name": "string",
    "lane.labels": "map(string, string)",
    "yes": "bool",
}
VALUES = (7, 0, 2.5, "emails-eu", {"tier": "free"}, True)

MEANING = {
    "1 + 2 * 3 == 7": True,
    "n / 2 == 3 && -n / 2 == -3": True,
    "-n % 4 == -3 && n % -4 == 3": True,
    "-9223372036854775808 < 0": True,
    "x * 2.0 == 5.0": True,
    "double(n) / 2.0 == 3.5 && int(-2.9) == -2": True,
    "n > 2.5 && x < 3 && !(x >= 3)": True,
    "1.0 / 0.0 > 1e308": True,
    "name.startsWith('emails') && !name.endsWith('us')": True,
    "name.contains('ls-e') && size(name) == name.size()": True,
    "size('é😀') == 2": True,
    "n in [5, 6, 7,] && [1, 2][1] == 2": True,
    "name in ['a', 'b']": False,
    "'tier' in lane.labels": True,
    "lane.labels.tier == 'free' && lane.labels['tier'] == 'free'": True,
    "has(lane.labels.tier) && !has(lane.labels.size)": True,
    "(!yes ? 1 : n == 7 ? 2 : 3) == 2": True,
    "yes || 1 / zero > 0": True,
    "1 / zero > 0 || yes": True,
    "1 / zero > 0 && false": False,
    "n\n==\t7 // to the end": True,
}

NO_VALUE = {
    "1 / zero > 0": "divide by zero",
    "1 % zero > 0 || false": "modulus by zero",
    "9223372036854775807 + n > 0": "overflow",
    "[n][1] == 1": "index",
    "lane.labels.colour == 'a'": "colour",
}

UNFIT = {
    "": (1, "it breaks off"),
    "n >": (4, "it breaks off"),
    "n = 7": (3, "write == to compare"),
    "n > 1 and yes": (7, "write && for"),
    "yes or n > 1": (5, "write || for"),
    "n > 5s": (6, "nothing like this can stand here: join conditions with && or ||"),
    "yes yes": (5, "nothing like this can stand here: join conditions with && or ||"),
    "(n > 1": (7, "')' is missing at the end"),
    "n > 1 & yes": (7, "write && for"),
    "n # 1": (3, "there is no sign '#': leave it out"),
    "name == 'a": (9, "end it with the same quote"),
    "name == '\\d'": (9, "write \\\\ for \\"),
    "n == while": (6, "is a word that CEL keeps for itself"),
    "n > 99999999999999999999": (5, "is no number of 64 bits: write a smaller one"),
    "n.x == 1": (2, "int has no fields: leave out the dot and what is behind it"),
    "has(n)": (5, "as in has(lane.labels.tier)"),
    "size() > 1": (1, "this function takes other arguments"),
    "n(1) > 1": (1, "this is a variable and no function"),
    "!n": (1, "! does not fit int: write it before something that is true or false"),
    "n && yes": (3, "&& does not fit int and bool: write something that is true or false"),
    "n ? 1 : 2": (3, "?: does not fit int, int, int: write condition ? this : that"),
    "name in name": (6, "in does not fit string, string: write a list or a map behind it"),
    "size(n) > 1": (5, "size does not fit int: give it what the reference of the policy says"),
    "n > 1 &&\n\n  nam < 3": (13, "there is no such variable or function; did you mean name?"),
    "'é😀' == name && nam": (17, "did you mean name?"),
    "job.kind == 'a'": (
        1,
        "; there are n, zero, x, name, lane.labels, yes, and the functions size, ",
    ),
    "lane.label == 1": (1, "did you mean lane.labels?"),
    "n + 1.5 > 2.0": (3, "+ does not fit int and double: write 2.0 for 2, or double(x)"),
    "name < 3": (6, "< does not fit string and int: compare two numbers, or a text with one"),
    "n": (1, "must be true or false, and is int"),
    "name.matches('e.*')": (6, "none that loops or matches regular expressions"),
    "[1].all(i, i > 0)": (9, "none that loops or matches regular expressions"),
    "[1].map(i, i) == [1]": (9, "none that loops or matches regular expressions"),
    "timestamp('x') == timestamp('y')": (1, "there are n, zero, "),
    "(" * 40 + "yes" + ")" * 40: (1, "has over 32 operations in one another"),
    "+".join(["n"] * 40) + " > 1": (1, "has over 32 operations in one another"),
    "n" * (BYTES_MAX + 1): (1, "it has 1,025 bytes, more than 1,024"),
}


@pytest.mark.parametrize(("text", "expected"), MEANING.items(), ids=list(MEANING))
def test_a_condition_means_what_cel_says(text: str, *, expected: bool) -> None:
    """Precedence, types, 64 bits, rounding, and what && and || do with errors."""
    assert expected is compile_condition(text, VARIABLES).run(VALUES)


@pytest.mark.parametrize(("text", "said"), NO_VALUE.items(), ids=list(NO_VALUE))
def test_a_condition_without_a_value_says_why(text: str, said: str) -> None:
    """CEL's errors: nothing is made up in their place."""
    condition = compile_condition(text, VARIABLES)

    with pytest.raises(EvaluationError, match=said):
        condition.run(VALUES)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [(text, *where) for text, where in UNFIT.items()],
    ids=[text[:24] for text in UNFIT],
)
def test_what_cannot_be_used_is_refused_at_its_place(text: str, column: int, said: str) -> None:
    """Unknown words, types that do not fit, and what has no bound."""
    with pytest.raises(InvalidCondition) as refused:
        compile_condition(text, VARIABLES)

    assert said in str(refused.value)
    assert column == refused.value.column
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("n > 0 && has(lane.labels.a)", "lane.labels n"),
        ("lane\n. labels['x'] == 'n'", "lane.labels"),
        ("'zero' == name", "name"),
        ("1 < 2", ""),
    ],
)
def test_a_condition_says_which_variables_it_reads(text: str, reads: str) -> None:
    """What asks nothing of lanes is evaluated once for all."""
    assert reads == " ".join(sorted(compile_condition(text, VARIABLES).reads))


def test_invisible_characters_are_escaped() -> None:
    """A sentence is for a terminal."""
    with pytest.raises(InvalidCondition) as refused:
        compile_condition("\ufeffyes\x1b", VARIABLES)

    assert str(refused.value).isprintable()
    assert "\\ufeff" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ("n > 6 && (x <= 2.5 || !yes)", True),
        ("name == 'a' ? yes : n < 2.5", True),
        ("n + 1 > 6", False),
        ("size(name) > 3", False),
        ("n in [1, 2]", False),
        ("lane.labels == lane.labels", False),
        ("has(lane.labels.tier)", False),
        ("n < 9007199254740993", False),
    ],
)
def test_a_condition_that_only_compares_needs_no_package(text: str, *, compares: bool) -> None:
    """It is run as a function of this program; whatever has anything else in it is not."""
    condition = compile_condition(text, VARIABLES)

    assert compares == (condition.run.__module__ == fast_path.__name__)
    assert compile_condition(text, VARIABLES, by_package=True).run(VALUES) is condition.run(
        VALUES
    )
