"""Which parameters of an application's functions get what its lifespan yields, by their types.

A parameter asks for it by its default, `GIVEN`, so that whoever calls or enqueues a handler
need not say it. Pure: functions and annotations go in, positions come out. What does not fit is
refused with one sentence, when the application is loaded.
"""

import inspect
import sys
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from inspect import Parameter
from types import NoneType, SimpleNamespace
from typing import Any, TypeAlias, cast

if sys.version_info >= (3, 14):
    from annotationlib import Format


class _Given:
    """The default of a parameter that gets what the lifespan yields."""

    def __repr__(self) -> str:
        return "fairlead.GIVEN"


GIVEN: Any = _Given()
"""The default of a parameter that gets what the lifespan yields of its type."""
Asked: TypeAlias = dict[str, int]
"""For each parameter to fill, the place of its value in what the lifespan yields."""

_YIELDING = (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
    AbstractAsyncContextManager,
    AbstractContextManager,
)
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def place(function: object) -> str:
    """Return file and line of a function, or of the call of an object."""
    code = getattr(_plain(function), "__code__", None)
    return "an unknown place" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def yielded_types(function: Callable[..., object]) -> tuple[object, ...] | None:
    """Return what a lifespan says it yields: nothing, one type, or those of a tuple.

    None: it does not say.

    Raises:
        ValueError: what it says cannot be read.
    """
    said = getattr(_plain(function), "__annotations__", {}).get("return")
    if said is None:
        return None
    what = f"the lifespan, at {place(function)},"
    annotation = _evaluated(what, "return", said, function)
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) not in _YIELDING or not arguments:
        return None
    yielded: object = arguments[0]
    if yielded is None or yielded is NoneType:
        return ()
    parts = typing.get_args(yielded)
    return parts if typing.get_origin(yielded) is tuple and ... not in parts else (yielded,)


def asked_of(
    what: str,
    function: Callable[..., object],
    given: tuple[str, ...],
    types: tuple[object, ...] | None,
    *,
    takes_members: bool = False,
) -> Asked:
    """Return which parameters get what of it: those whose default is `GIVEN`.

    Args:
        what: what a sentence begins with: whose parameters they are.
        function: whose parameters they are.
        given: what it is called with in any case, for the sentence.
        types: what the lifespan yields; None: it does not say, or there is none.
        takes_members: other parameters get members of a job's payload.

    Raises:
        ValueError: it cannot be called with that, or asks for what is not yielded.
    """
    found = parameters(function)
    if found is None:
        return {}
    positional = [each for each in found if _is_positional(each)]
    takes_more = any(each.kind is Parameter.VAR_POSITIONAL for each in found)
    if len(positional) < len(given) and not takes_more:
        raise ValueError(f"{what} has to take {' and '.join(given)}, and takes too little")
    asked: Asked = {}
    for each in found:
        if each in positional[: len(given)] or each.kind in VARIADIC:
            continue
        if each.default is GIVEN:
            asked[each.name] = _place_of(what, each, types, function)
        elif each.default is Parameter.empty and not takes_members:
            raise ValueError(
                f"{what} takes {each.name}, and nothing gives it: what the lifespan yields is "
                f"asked for as {each.name}: itsType = fairlead.GIVEN"
            )
    return asked


def filled(
    function: Callable[..., object], asked: Asked, values: tuple[object, ...]
) -> Callable[..., object]:
    """Return a function with what it asks for; itself where that is nothing."""
    if not asked:
        return function
    return partial(function, **{name: values[at] for name, at in asked.items()})


def _is_positional(parameter: Parameter) -> bool:
    return parameter.kind in _POSITIONAL and parameter.default is not GIVEN


def parameters(function: Callable[..., object]) -> list[Parameter] | None:
    """Return the parameters; None: it is written in C, for example, and does not say."""
    try:
        if sys.version_info >= (3, 14):
            signature = inspect.signature(function, annotation_format=Format.FORWARDREF)
        else:
            signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return list(signature.parameters.values())


def _place_of(
    what: str,
    parameter: Parameter,
    types: tuple[object, ...] | None,
    function: Callable[..., object],
) -> int:
    """Return the place of what a parameter asks for."""
    name = parameter.name
    if parameter.annotation is Parameter.empty:
        raise ValueError(f"{what} asks for {name} and does not say of which type: annotate it")
    asked = _evaluated(what, name, parameter.annotation, function)
    asks = f"{what} asks for {name}: {_shown(asked)}"
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        raise ValueError(f"{asks}, and takes it by its place only")
    if types is None:
        raise ValueError(
            f"{asks}, and no lifespan says that it yields one: annotate what it returns, "
            f"AsyncIterator[{_shown(asked)}] for example"
        )
    found = [at for at, each in enumerate(types) if each == asked]
    found = found or [at for at, each in enumerate(types) if _is_a(each, asked)]
    if len(found) != 1:
        yields = ", ".join(map(_shown, types)) or "nothing"
        raise ValueError(f"{asks}, and the lifespan yields {yields}")
    return found[0]


def _evaluated(what: str, name: str, said: object, function: object) -> object:
    """Return an annotation that may be text.

    Raises:
        ValueError: it names what the module of the function does not have.
    """
    holder = SimpleNamespace(__annotations__={name: said})
    names: dict[str, object] = getattr(_plain(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, globalns=names)[name]
    except Exception as error:  # noqa: BLE001 - an annotation is any expression
        raise ValueError(
            f"{what} has an annotation of {name} that cannot be read: {error}"
        ) from None


def _plain(function: object) -> object:
    """Return the function that was decorated, or that an object is called by."""
    inner = inspect.unwrap(cast("Callable[..., object]", function))
    while not hasattr(inner, "__code__") and hasattr(inner, "func"):
        inner = inner.func  # a partial
    if hasattr(inner, "__code__"):
        return inner
    called: object = inner
    return getattr(type(called), "__call__", called)  # noqa: B004 - an object called like a function


def _is_a(yielded: object, asked: object) -> bool:
    """Return whether what is yielded may stand for what is asked for."""
    kind = typing.get_origin(yielded) or yielded
    try:
        return asked is not object and issubclass(cast("type", kind), cast("type", asked))
    except TypeError:  # no class, or a protocol that cannot be checked
        return False


def _shown(annotation: object) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)
