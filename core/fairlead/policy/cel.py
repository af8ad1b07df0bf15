"""CEL, the Common Expression Language: conditions whose time is bounded by their length.

The C++ implementation reads and runs them. Of its functions only those here are offered: macros
that loop and regular expressions are not, so each part of a condition is run once at most. The
package has 14 MB of native code, so it is loaded for the first condition and not before.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Protocol, TypeAlias, cast

from fairlead.policy.comparisons import compared
from fairlead.policy.unfit import Unfit, unfit

BYTES_MAX = 1024
BOOL, INT, DOUBLE, STRING, TEXTS = "bool", "int", "double", "string", "map(string, string)"
_FUNCTIONS = ("size", "startsWith", "endsWith", "contains", "int", "double")
_OPERATORS = (
    *("_&&_", "_||_", "!_", "_?_:_", "_==_", "_!=_", "@in"),
    *("_+_", "_-_", "-_", "_*_", "_/_", "_%_", "_[_]"),
)
_RELATIONS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_COMPARED = ((INT, INT), (DOUBLE, DOUBLE), (INT, DOUBLE), (DOUBLE, INT), (STRING, STRING))
"""What has an order: numbers of both kinds too, which the package runs but does not declare."""
_TEXTS = {"type_name": "map", "params": [{"type_name": "string"}, {"type_name": "string"}]}
_ERRORS = (RuntimeError, ValueError, LookupError)
"""What the package raises."""

Scope: TypeAlias = Sequence[object]
"""The values of all variables, in their order."""
Run: TypeAlias = Callable[[Scope], bool]


class Fault(Exception):
    """A condition has no value for these values of its variables."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition that is ready to be run."""

    text: str
    reads: frozenset[str]
    """The variables that it names."""
    run: Run
    """Tells whether it is true, given the values of all variables; raises `Fault`."""


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


def compiled(
    text: str, variables: Mapping[str, str], *, by_package: bool = False
) -> Expression:
    """Read a condition over these variables, which are given with their types.

    Args:
        text: The condition.
        variables: The variables in the order of their values.
        by_package: Have the package run it even where it only compares, which takes longer.

    Raises:
        Unfit: it is none, it is too long, or its types do not fit.
    """
    size = len(text.encode())
    if size > BYTES_MAX:
        said = f"it has {size:,} bytes, more than {BYTES_MAX:,}: leave some out"
        raise Unfit(said, column=1, text=text)
    try:
        program = _environment(tuple(variables.items())).compile(text)
    except _ERRORS as error:
        raise unfit(str(error), text, variables, _FUNCTIONS) from None
    kind = program.return_type().name().lower()
    if kind != BOOL:
        said = f"must be true or false, and is {kind}: compare it, as in hour >= 9"
        raise Unfit(said, column=1, text=text)
    checked = program.serialize()
    read = _read(checked, tuple(variables))
    places = {name: place for name, place in read.items() if variables[name] != TEXTS}
    plain = None if by_package else compared(checked, places)
    run = _run(program, read) if plain is None else cast("Run", plain)
    return Expression(text, frozenset(read), run)


@lru_cache(maxsize=4)
def _environment(variables: tuple[tuple[str, str], ...]) -> _Environment:
    """Return the language with these variables; JSON is YAML."""
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
    """Return the variables that a checked expression names, each with its place.

    It is a message of Protocol Buffers, in which each reference has its name as field 1: a tag,
    the length, the text. A constant that looks like this has a variable taken for read that is
    not, which does no harm.
    """
    return {
        name: place
        for place, name in enumerate(variables)
        if bytes([10, len(name)]) + name.encode() in serialized
    }


def _run(program: _Program, read: Mapping[str, int]) -> Run:
    """Return what runs a condition with the variables that it reads."""
    evaluate, names = program.eval, tuple(read.items())

    def run(scope: Scope) -> bool:
        try:
            found = evaluate(data={name: scope[place] for name, place in names}).value()
        except _ERRORS as error:
            raise Fault(str(error)) from None
        if isinstance(found, bool):
            return found
        raise Fault(str(found).partition(": ")[2])

    return run
