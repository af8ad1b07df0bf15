"""Conditions that only compare, as Python functions: much faster than calling the CEL package.

Most conditions compare variables with constants and join the results by `&&`, `||`, `!` and
`?:`. The package has checked their types, so evaluation cannot fail and means the same in
Python. The package parses and checks every condition, and runs those that do anything else.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from struct import unpack
from typing import TypeAlias

Node: TypeAlias = Callable[[Sequence[object]], object]
"""Returns the value of a part of the condition, given the values of all variables."""

_CHECKED, _EXPRESSION = 2, 4
"""The field that holds the checked expression, and in it the field of the expression itself."""
_CONSTANT, _NAME, _CALL = 3, 4, 6
_FUNCTION, _ARGUMENT = 2, 3
_BOOL, _INT, _DOUBLE, _STRING = 2, 3, 5, 6
_VARINT, _FIXED, _BYTES = 0, 1, 2
_EXACT = 1 << 53
"""Beyond this, CEL rounds an int that it compares with a double; Python does not."""
_RELATIONS: Mapping[str, Callable[..., object]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}


class _NotAComparison(Exception):
    """Part of the condition is not a comparison."""


def compile_comparison(checked: bytes, places: Mapping[str, int]) -> Node | None:
    """Return a checked condition as a function; None if it does more than compare.

    Args:
        checked: The condition as the package serializes it, a Protocol Buffers message.
        places: Index among all values of each variable that can be compared.
    """
    try:
        return _node(_only(_only(checked, _CHECKED), _EXPRESSION), places)
    except _NotAComparison:
        return None


def _node(expression: bytes, places: Mapping[str, int]) -> Node:
    for number, value in _fields(expression):
        if isinstance(value, bytes):
            if number == _CONSTANT:
                return _constant(value)
            if number == _NAME:
                return _variable(value, places)
            if number == _CALL:
                return _call(value, places)
    raise _NotAComparison


def _constant(message: bytes) -> Node:
    for number, value in _fields(message):
        if isinstance(value, int):
            if number == _BOOL:
                return _always(bool(value))
            if number == _INT:
                return _always(_signed(value))
        elif number == _DOUBLE:
            return _always(unpack("<d", value)[0])
        elif number == _STRING:
            return _always(value.decode())
    raise _NotAComparison


def _signed(value: int) -> int:
    signed = value - (1 << 64) if value >> 63 else value
    if abs(signed) > _EXACT:
        raise _NotAComparison
    return signed


def _always(value: object) -> Node:
    return lambda _: value


def _variable(message: bytes, places: Mapping[str, int]) -> Node:
    place = places.get(_only(message, 1).decode())
    if place is None:
        raise _NotAComparison
    return operator.itemgetter(place)


def _call(message: bytes, places: Mapping[str, int]) -> Node:
    function, nodes = "", list[Node]()
    for number, value in _fields(message):
        if number == _FUNCTION and isinstance(value, bytes):
            function = value.decode()
        elif number == _ARGUMENT and isinstance(value, bytes):
            nodes.append(_node(value, places))
        else:
            raise _NotAComparison
    return _joined(function, nodes)


def _joined(function: str, nodes: Sequence[Node]) -> Node:
    if function in _RELATIONS:
        relation, (left, right) = _RELATIONS[function], nodes
        return lambda values: relation(left(values), right(values))
    if function == "_&&_":
        first, second = nodes
        return lambda values: first(values) and second(values)
    if function == "_||_":
        first, second = nodes
        return lambda values: first(values) or second(values)
    if function == "!_":
        (only,) = nodes
        return lambda values: not only(values)
    if function == "_?_:_":
        condition, yes, no = nodes
        return lambda values: yes(values) if condition(values) else no(values)
    raise _NotAComparison


def _only(message: bytes, number: int) -> bytes:
    """Return the field of this number."""
    for found, value in _fields(message):
        if found == number and isinstance(value, bytes):
            return value
    raise _NotAComparison


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message: an integer, or bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        size = 8
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind != _FIXED:
            raise _NotAComparison
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return an integer, and where it ends."""
    value = shift = 0
    while message[at] & 128:
        value |= (message[at] & 127) << shift
        shift, at = shift + 7, at + 1
    return value | message[at] << shift, at + 1
