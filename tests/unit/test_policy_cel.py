"""Conditions mean what CEL says, and what cannot be used is refused where it goes wrong."""

import math

import pytest

from fairlead.policy.cel import Fault, Unfit, compiled
from fairlead.policy.cel.compiler import BYTES_MAX, DEPTH_MAX, PARTS_MAX

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
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "7 - 2 - 1": 4,
    "n / 2": 3,
    "-n / 2": -3,
    "-n % 4": -3,
    "n % -4": 3,
    "0x1F": 31,
    "-9223372036854775808": -(2**63),
    "x * 2.0": 5.0,
    "1.0 / 0.0": math.inf,
    "-1.0 / 0.0": -math.inf,
    "1e3": 1000.0,
    ".5 + 0.5": 1.0,
    "int(2.9) + int(-2.9)": 0,
    "double(n) / 2.0": 3.5,
    "n > 2.5": True,
    "1 == 1.0": True,
    "'a' < 'b'": True,
    "'a' + \"b\" == 'ab'": True,
    r"'\x41\u0042\103\n' == 'ABC' + '\n'": True,
    r"r'\d' == '\\d'": True,
    "name.startsWith('emails') && !name.endsWith('us')": True,
    "name.contains('ls-e')": True,
    "size(name) == name.size()": True,
    "size('é😀')": 2,
    "size([1, 2, 3])": 3,
    "[1, 2,][1]": 2,
    "n in [5, 6, 7]": True,
    "name in ['a', 'b']": False,
    "2.0 in [1, 2]": True,
    "'tier' in lane.labels": True,
    "lane.labels.tier": "free",
    "lane.labels['tier']": "free",
    "has(lane.labels.tier) && !has(lane.labels.size)": True,
    "yes ? 'a' : 'b'": "a",
    "!yes ? 1 : n == 7 ? 2 : 3": 2,
    "yes || 1 / zero > 0": True,
    "1 / zero > 0 || yes": True,
    "false && 1 / zero > 0": False,
    "1 / zero > 0 && false": False,
    "true // to the end": True,
    "!!yes": True,
    "--n": 7,
    "!(n < 7 || n > 7)": True,
    "n\n==\t7": True,
}

NO_VALUE = {
    "1 / zero": "divides by zero",
    "1 % zero": "divides by zero",
    "9223372036854775807 + 1": "more than 64 bits",
    "-(-9223372036854775807 - 1)": "more than 64 bits",
    "int(1e300)": "more than 64 bits",
    "[1][1]": "no entry 1",
    "lane.labels.colour": "there is no colour",
    "1 / zero > 0 || false": "divides by zero",
    "1 / zero > 0 && true": "divides by zero",
}

UNFIT = {
    "": (1, "it breaks off"),
    "n >": (4, "it breaks off"),
    "n >> 3": (4, "is not expected here"),
    "n 3": (3, "is not expected here"),
    "(n": (1, "there is no ) to it"),
    "[1, 2": (1, "there is no ] to it"),
    "size(name": (1, "there is no ) to it"),
    "n = 7": (3, "did you mean ==?"),
    "yes & yes": (5, "did you mean &&?"),
    "5s": (1, "is no number"),
    "5u": (1, "is no number"),
    "1.5.2": (4, "is not expected here"),
    "9223372036854775808": (1, "is out of range"),
    "'a": (1, "the text has no end"),
    r"'\q'": (2, "there is no such character"),
    r"'\ud800'": (2, "there is no such character"),
    "n # 7": (3, "means nothing here"),
    "{'a': 1}": (1, "maps cannot be written here"),
    "b'a'": (1, "there is no such variable"),
    "nam": (1, "did you mean name?"),
    "job.kind == 'a'": (1, "there is no such variable; there are n, "),
    "lane": (1, "has no value of its own; there are lane.labels"),
    "lane.label": (1, "did you mean lane.labels?"),
    "null == null": (1, "is not expected here"),
    "n.foo": (3, "int has no fields"),
    "name[0]": (5, "string has no entry for int"),
    "name.lower()": (6, "there is no such function; there are size, "),
    "now()": (1, "there is no such function"),
    "size(1)": (1, "takes (string) or (list) or (map(string, string)), not (int)"),
    "name.startsWith(1)": (6, "takes (string, string), not (string, int)"),
    "has(n)": (1, "takes one field of a map"),
    "name.matches('e.*')": (6, "there are no regular expressions"),
    "[1].all(i, i > 0)": (5, "expressions have no loops"),
    "n + 1.5": (3, "cannot take int and double: write 2.0 for 2, or double(x)"),
    "name + 1": (6, "cannot take string and int"),
    "name - name": (6, "cannot take string and string"),
    "name < 3": (6, "cannot compare string with int"),
    "yes < yes": (5, "cannot compare bool with bool"),
    "1 < 2 < 3": (7, "cannot compare bool with int"),
    "n && yes": (3, "needs true or false, not int"),
    "!n": (1, "needs true or false, not int"),
    "-name": (1, "needs a number, not string"),
    "n ? 1 : 2": (3, "needs true or false, not int"),
    "yes ? 1 : 2.0": (5, "its two values are int and double"),
    "yes ? 1": (5, "there is no : to it"),
    "n in 3": (3, "needs a list or a map"),
    "n in ['a']": (3, "looks for int among string"),
    "[1, 'a']": (1, "a list needs entries of one type"),
    "[] == []": (1, "an empty list has no type"),
    "(" * (DEPTH_MAX + 1) + "yes": (DEPTH_MAX + 1, "is nested more than 16 deep"),
    "!" * PARTS_MAX + "yes": (1, "is more than the 64 parts"),
    "n" * (BYTES_MAX + 1): (1, "it has 1,025 bytes, more than 1,024"),
}


@pytest.mark.parametrize(("text", "expected"), MEANING.items(), ids=list(MEANING))
def test_an_expression_means_what_cel_says(text: str, expected: object) -> None:
    """Precedence, types, 64 bits, rounding, and what && and || do with errors."""
    found = compiled(text, VARIABLES).run(VALUES)

    assert (type(expected), expected) == (type(found), found)


@pytest.mark.parametrize(("text", "said"), NO_VALUE.items(), ids=list(NO_VALUE))
def test_an_expression_without_a_value_says_why(text: str, said: str) -> None:
    """CEL's errors: nothing is made up in their place."""
    expression = compiled(text, VARIABLES)

    with pytest.raises(Fault, match=said):
        expression.run(VALUES)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [(text, *where) for text, where in UNFIT.items()],
    ids=[text[:24] for text in UNFIT],
)
def test_what_cannot_be_used_is_refused_at_its_place(text: str, column: int, said: str) -> None:
    """Unknown words, types that do not fit, and what has no bound."""
    with pytest.raises(Unfit) as refused:
        compiled(text, VARIABLES)

    assert column == refused.value.column
    assert said in str(refused.value)


def test_an_expression_says_which_variables_it_reads() -> None:
    """What asks nothing of lanes is evaluated once for all."""
    assert {"n", "lane.labels"} == compiled("n > 0 && has(lane.labels.a)", VARIABLES).reads
