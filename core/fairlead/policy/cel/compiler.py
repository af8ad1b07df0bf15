"""CEL, the Common Expression Language: conditions whose run time is bounded by their length.

The package cel_expr_python, a C++ implementation, compiles and runs them. Only the functions
below are enabled: no macros that loop and no regular expressions, so each part of a condition
runs at most once. The package has 14 MB of native code and is loaded for the first condition.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Protocol, TypeAlias, cast

from fairlead.policy.cel.errors import InvalidCondition, translate_error
from fairlead.policy.cel.fast_path import compile_comparison

BYTES_MAX = 1024
BOOL, INT, DOUBLE, STRING, TEXTS = "bool", "int", "double", "string", "map(string, string)"
_FUNCTIONS = ("size", "startsWith", "endsWith", "contains", "int", "double")
_OPERATORS = (
    *("_&&_", "_||_", "!_", "_?_:_", "_==_", "_!=_", "@in"),
    *("_+_", "_-_", "-_", "_*_", "_/_", "_%_", "_[_]"),
)
_RELATIONS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_COMPARED = ((INT, INT), (DOUBLE, DOUBLE), (INT, DOUBLE), (DOUBLE, INT), (STRING, STRING))
"""Pairs of types that can be compared by order. The package can compare int with double, but
does not declare it."""
_TEXTS = {"type_name": "map", "params": [{"type_name": "string"}, {"type_name": "string"}]}
_ERRORS = (RuntimeError, ValueError, LookupError)
"""Exceptions that the package raises."""

Scope: TypeAlias = Sequence[object]
"""The values of all variables, in the order of their declaration."""
Run: TypeAlias = Callable[[Scope], bool]


class EvaluationError(Exception):
    """A condition has no result for the given values of its variables."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled condition."""

    text: str
    reads: frozenset[str]
    """Names of the variables that it uses."""
    run: Run
    """Return whether it is true for the values of all variables, or raise `EvaluationError`."""


class _Value(Protocol):
    def value(self) -> object: ...


class _Type(Protocol):
    def name(self) -> str: ...


class _Program(Protocol):
    def return_type(self) -> _Type: ...

    def serialize(self) -> bytes: ...

    def eval(self, *, data: Mapping[str, object]) -> _Value: ...


class _Environment(Protocol):
    def compile(self, expression: str) -> _Program: ...


class _Package(Protocol):
    def NewEnvConfigFromYaml(self, yaml: str) -> object: ...  # noqa: N802 - so the package names it

    def NewEnv(self, *, config: object) -> _Environment: ...  # noqa: N802 - so the package names it


def compile_condition(
    text: str, variables: Mapping[str, str], *, by_package: bool = False
) -> Expression:
    """Compile a condition.

    Args:
        text: The condition.
        variables: Name and type of each variable, in the order of their values.
        by_package: Run it with the package even if the fast path could run it.

    Raises:
        InvalidCondition: the text is not a condition, is too long, or its types do not match.
    """
    size = len(text.encode())
    if size > BYTES_MAX:
        message = f"it has {size:,} bytes, more than {BYTES_MAX:,}: leave some out"
        raise InvalidCondition(message, column=1, text=text)
    try:
        program = _environment(tuple(variables.items())).compile(text)
    except _ERRORS as error:
        raise translate_error(str(error), text, variables, _FUNCTIONS) from None
    kind = program.return_type().name().lower()
    if kind != BOOL:
        message = f"must be true or false, and is {kind}: compare it, as in hour >= 9"
        raise InvalidCondition(message, column=1, text=text)
    checked = program.serialize()
    read = _read(checked, tuple(variables))
    places = {name: place for name, place in read.items() if variables[name] != TEXTS}
    plain = None if by_package else compile_comparison(checked, places)
    run = _run(program, read) if plain is None else cast("Run", plain)
    return Expression(text, frozenset(read), run)


@lru_cache(maxsize=4)
def _environment(variables: tuple[tuple[str, str], ...]) -> _Environment:
    """Return an environment with these variables; JSON is YAML."""
    package = cast("_Package", import_module("cel_expr_python.cel"))
    offered = [{"name": name} for name in (*_OPERATORS, *_FUNCTIONS)]
    declared = [
        {"name": name} | (_TEXTS if kind == TEXTS else {"type_name": kind})
        for name, kind in variables
    ]
    language = {
        "stdlib": {"include_macros": ["has"], "include_functions": offered},
        "functions": [_relation(*each) for each in _RELATIONS.items()],
        "variables": declared,
    }
    return package.NewEnv(config=package.NewEnvConfigFromYaml(json.dumps(language)))


def _relation(name: str, word: str) -> dict[str, object]:
    overloads = [
        {
            "id": f"{word}_{one}_{other}",
            "args": [{"type_name": one}, {"type_name": other}],
            "return": {"type_name": BOOL},
        }
        for one, other in _COMPARED
    ]
    return {"name": name, "overloads": overloads}


def _read(serialized: bytes, variables: Sequence[str]) -> dict[str, int]:
    """Return the variables that a checked expression uses, each with its place.

    The expression is a Protocol Buffers message in which each reference has its name as field
    1: a tag, the length, the text. A constant with the same bytes makes a variable appear to be
    used that is not, which is harmless.
    """
    return {
        name: place
        for place, name in enumerate(variables)
        if bytes([10, len(name)]) + name.encode() in serialized
    }


def _run(program: _Program, read: Mapping[str, int]) -> Run:
    """Return a function that evaluates a condition with the variables that it uses."""
    evaluate, names = program.eval, tuple(read.items())

    def run(scope: Scope) -> bool:
        try:
            found = evaluate(data={name: scope[place] for name, place in names}).value()
        except _ERRORS as error:
            raise EvaluationError(str(error)) from None
        if isinstance(found, bool):
            return found
        raise EvaluationError(str(found).partition(": ")[2])

    return run
