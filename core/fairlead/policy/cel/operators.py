"""What the operators and functions of CEL do, and with which types.

Each makes of the parts that it takes one part, which is ready to be run. Whole numbers have 64
bits, as in the language, and division rounds towards zero.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, inf, isnan, nan
from typing import TypeAlias, cast

from fairlead.policy.cel.tokens import INT_MAX, Token
from fairlead.policy.kinds import cut

Scope: TypeAlias = Sequence[object]
"""The values of all variables, in their order."""
Run: TypeAlias = Callable[[Scope], object]
Operation: TypeAlias = Callable[..., object]

BOOL, INT, DOUBLE, STRING, TEXTS = "bool", "int", "double", "string", "map(string, string)"
_NUMBERS = (INT, DOUBLE)
_INT_LOWEST = -INT_MAX - 1


class Fault(Exception):
    """An expression has no value for these values of its variables."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression: its type, and how to find its value."""

    type: str
    run: Run
    constant: bool = False
    present: Run | None = None
    """Whether there is what it selects from a map."""


def constant(kind: str, value: object) -> Part:
    """Return a part that always has this value."""
    return Part(kind, lambda _: value, constant=True)


def variable(kind: str, place: int) -> Part:
    """Return the variable at this place."""
    return Part(kind, cast("Run", operator.itemgetter(place)))


def either(at: Token, left: Part, right: Part) -> Part:
    """`||`: true when one of them is, also where the other has no value."""
    first, second = _logical(at, left), _logical(at, right)

    def run(scope: Scope) -> object:
        try:
            if first(scope):
                return True
        except Fault:
            if second(scope):
                return True
            raise
        return second(scope)

    return Part(BOOL, run)


def both(at: Token, left: Part, right: Part) -> Part:
    """`&&`: false when one of them is, also where the other has no value."""
    first, second = _logical(at, left), _logical(at, right)

    def run(scope: Scope) -> object:
        try:
            if not first(scope):
                return False
        except Fault:
            if not second(scope):
                return False
            raise
        return second(scope)

    return Part(BOOL, run)


def choice(at: Token, condition: Part, yes: Part, no: Part) -> Part:
    """`?:`."""
    chosen, first, second = _logical(at, condition), yes.run, no.run
    if yes.type != no.type:
        raise at.unfit(f"its two values are {yes.type} and {no.type}: give two of one type")
    return Part(yes.type, lambda scope: first(scope) if chosen(scope) else second(scope))


def opposite(at: Token, of: Part) -> Part:
    """`!`."""
    run = _logical(at, of)
    return Part(BOOL, lambda scope: not run(scope))


def negative(at: Token, of: Part) -> Part:
    """`-`."""
    if of.type not in _NUMBERS:
        raise at.unfit(f"needs a number, not {of.type}")
    run = of.run
    negate: Operation = _whole(_negated) if of.type == INT else operator.neg
    return Part(of.type, lambda scope: negate(run(scope)))


def compared(at: Token, left: Part, right: Part) -> Part:
    """`==`, `!=`, `<`, `<=`, `>` and `>=`: of one type, or both numbers."""
    numbers = left.type in _NUMBERS and right.type in _NUMBERS
    ordered = at.text not in _EQUAL
    fits = numbers or (left.type == right.type and (not ordered or left.type == STRING))
    if not fits:
        raise at.unfit(f"cannot compare {left.type} with {right.type}")
    return Part(BOOL, _applied(_COMPARE[at.text], left, right))


def contained(at: Token, left: Part, right: Part) -> Part:
    """`in`: whether a list has a value, or a map a key."""
    of = right.type.removeprefix("list(").removesuffix(")")
    if right.type == TEXTS:
        of = STRING
    elif of == right.type:
        raise at.unfit(f"needs a list or a map to its right, not {right.type}")
    if left.type != of and not {left.type, of} <= set(_NUMBERS):
        raise at.unfit(f"looks for {left.type} among {of}: give one type")
    return Part(BOOL, _applied(_within, left, right))


def reckoned(at: Token, left: Part, right: Part) -> Part:
    """`+`, `-`, `*`, `/` and `%`: of two numbers of one type; `+` also of two strings."""
    operation = _RECKON.get((at.text, left.type))
    if operation is None or left.type != right.type:
        mixed = {left.type, right.type} == set(_NUMBERS)
        fix = ": write 2.0 for 2, or double(x)" if mixed else ""
        raise at.unfit(f"cannot take {left.type} and {right.type}{fix}")
    return Part(left.type, _applied(operation, left, right))


def indexed(at: Token, of: Part, key: Part) -> Part:
    """`of[key]`."""
    if of.type == TEXTS and key.type == STRING:
        return Part(STRING, _applied(_of_key, of, key), present=_applied(_within, key, of))
    if of.type.startswith("list(") and key.type == INT:
        return Part(of.type[5:-1], _applied(_of_place, of, key))
    raise at.unfit(f"{of.type} has no entry for {key.type}")


def selected(at: Token, of: Part) -> Part:
    """`of.name`."""
    if of.type != TEXTS:
        raise at.unfit(f"{of.type} has no fields")
    return indexed(at, of, constant(STRING, at.text))


def listed(at: Token, entries: Sequence[Part]) -> Part:
    """Return a list, `[a, b]`."""
    kinds = {entry.type for entry in entries}
    if len(kinds) != 1:
        said = "a list needs entries of one type" if kinds else "an empty list has no type"
        raise at.unfit(f"{said}: give some")
    kind, runs = f"list({kinds.pop()})", tuple(entry.run for entry in entries)
    if all(entry.constant for entry in entries):
        return constant(kind, tuple(run(()) for run in runs))
    return Part(kind, lambda scope: tuple([run(scope) for run in runs]))


def called(at: Token, given: Sequence[Part]) -> Part:
    """Return what a function makes of the parts that it is given."""
    kinds = tuple(part.type for part in given)
    found = FUNCTIONS.get(at.text, {})
    one = "list" if kinds and kinds[0].startswith("list(") else kinds[0] if kinds else ""
    match = found.get((one, *kinds[1:]))
    if match is None:
        takes = " or ".join(f"({', '.join(each)})" for each in found)
        raise at.unfit(f"takes {takes}, not ({', '.join(kinds)})")
    result, operation = match
    if len(given) == 2:
        return Part(result, _applied(operation, *given))
    run = given[0].run
    return Part(result, lambda scope: operation(run(scope)))


def _logical(at: Token, of: Part) -> Run:
    if of.type != BOOL:
        raise at.unfit(f"needs true or false, not {of.type}")
    return of.run


def _applied(operation: Operation, left: Part, right: Part) -> Run:
    first, second = left.run, right.run
    if right.constant:
        value = second(())
        return lambda scope: operation(first(scope), value)
    return lambda scope: operation(first(scope), second(scope))


def _whole(operation: Callable[..., int]) -> Operation:
    """Return an operation on whole numbers that refuses results of more than 64 bits."""

    def run(*given: int) -> int:
        found = operation(*given)
        if _INT_LOWEST <= found <= INT_MAX:
            return found
        raise Fault("a whole number has more than 64 bits: reckon with double(x)")

    return run


def _negated(value: int) -> int:
    return -value


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise Fault("it divides by zero: ask before, as in workers.slots > 0 && …")
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _rest(left: int, right: int) -> int:
    return left - right * _divided(left, right)


def _ratio(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or isnan(left) or isnan(right):
        return nan
    return copysign(inf, left) * copysign(1.0, right)


def _within(value: object, among: Sequence[object]) -> bool:
    return value in among


def _of_key(of: Mapping[str, str], key: str) -> str:
    found = of.get(key)
    if found is None:
        raise Fault(f"there is no {cut(key)}: ask before, as in has(lane.labels.tier) && …")
    return found


def _of_place(of: Sequence[object], place: int) -> object:
    if 0 <= place < len(of):
        return of[place]
    raise Fault(f"a list has no entry {place}: count from 0")


def _truncated(value: float) -> int:
    if isnan(value) or not _INT_LOWEST <= value < INT_MAX:
        raise Fault("a whole number has more than 64 bits: reckon with double(x)")
    return int(value)


_EQUAL = ("==", "!=")
_COMPARE: Mapping[str, Operation] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RECKON: Mapping[tuple[str, str], Operation] = {
    ("+", INT): _whole(operator.add),
    ("-", INT): _whole(operator.sub),
    ("*", INT): _whole(operator.mul),
    ("/", INT): _whole(_divided),
    ("%", INT): _rest,
    ("+", DOUBLE): operator.add,
    ("-", DOUBLE): operator.sub,
    ("*", DOUBLE): operator.mul,
    ("/", DOUBLE): _ratio,
    ("+", STRING): operator.add,
}
FUNCTIONS: Mapping[str, Mapping[tuple[str, ...], tuple[str, Operation]]] = {
    "size": {(STRING,): (INT, len), ("list",): (INT, len), (TEXTS,): (INT, len)},
    "startsWith": {(STRING, STRING): (BOOL, str.startswith)},
    "endsWith": {(STRING, STRING): (BOOL, str.endswith)},
    "contains": {(STRING, STRING): (BOOL, operator.contains)},
    "int": {(DOUBLE,): (INT, _truncated), (INT,): (INT, int)},
    "double": {(INT,): (DOUBLE, float), (DOUBLE,): (DOUBLE, float)},
}
"""Each function's types, and for each of them its result."""
