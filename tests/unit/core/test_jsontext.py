"""JSON goes to PostgreSQL only if PostgreSQL takes it."""

from collections import UserDict, UserList, deque
from types import MappingProxyType

import pytest

from fairlead.jsontext import encode

EMPTY: dict[str, object] = {}


def nested(levels: int) -> list[object]:
    """Return an empty list in a list, and so on."""
    found: list[object] = []
    for _ in range(levels - 1):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, None, True]}, '{"a":[1,2.5,null,true]}'),
        ("Grüße, 世界 😀", '"Grüße, 世界 😀"'),
        ((1, 2), "[1,2]"),
        (MappingProxyType({"a": deque([MappingProxyType(EMPTY)])}), '{"a":[{}]}'),
        ({"a": UserList([UserDict({"b": range(2)})])}, '{"a":[{"b":[0,1]}]}'),
        ("a \\u0000 that is spelt out", '"a \\\\u0000 that is spelt out"'),
        (nested(500), "[" * 500 + "]" * 500),
        ([nested(1)] * 501, "[" + ",".join(["[]"] * 501) + "]"),
    ],
)
def test_what_both_sides_know_is_written(value: object, text: str) -> None:
    """Text stays text, tuples are arrays, and an escape that is spelt out is only text."""
    assert text == encode("result", value)


_CIRCLE: list[object] = []
_CIRCLE.append(_CIRCLE)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (float("nan"), "result cannot be written as JSON: .*"),
        (float("-inf"), "result cannot be written as JSON: .*"),
        ({1, 2}, "result cannot be written as JSON: Object of type set"),
        (b"bytes", "result cannot be written as JSON: Object of type bytes"),
        ([bytearray(1)], "result cannot be written as JSON: Object of type bytearray"),
        (memoryview(b"a"), "result cannot be written as JSON: Object of type memoryview"),
        ("half \ud83d", "result cannot be written as JSON: .*surrogates"),
        ([10**5000], "result cannot be written as JSON: .*digits"),
        (_CIRCLE, "result cannot be written as JSON: .*"),
        ("nul \0", "result holds the NUL character, which PostgreSQL refuses"),
        ({"\\\0": 1}, "result holds the NUL character"),
        (nested(501), "result is nested more than 500 deep"),
        ({"a": nested(500)}, "result is nested more than 500 deep"),
        (UserDict({"a": nested(500)}), "result is nested more than 500 deep"),
        ("x" * 1024 * 1024, "result is 1,048,578 bytes of JSON, more than 1,048,576"),
    ],
)
def test_what_either_side_refuses_is_refused_with_a_sentence(
    value: object, sentence: str
) -> None:
    """NaN, NUL, half surrogates and the like never reach the database."""
    with pytest.raises(ValueError, match=sentence):
        encode("result", value)
