"""What a handler's signature says of its payload, and payloads that are held to it.

A handler takes its job alone, as `Job[Email]`, or the members of the payload as parameters
after it; a parameter whose default is `GIVEN` is none of these. pydantic does the checking, of
its models, dataclasses and TypedDicts; it is imported when a payload is checked, so an
application without such handlers does not load it.

The signature is read late: annotations may name what is defined further down.
"""

import functools
import importlib
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, cast

from fairlead import jsontext
from fairlead.errors import InvalidPayload
from fairlead.injection import GIVEN, VARIADIC, parameters
from fairlead.jsontext import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_IS_OLD = sys.version_info < (3, 12)
"""Whether pydantic takes no TypedDict of `typing`."""
_words = importlib.import_module("typing_extensions" if _IS_OLD else "typing")
_PRESENCE = frozenset(
    (_words.NotRequired, _words.Required, typing.NotRequired, typing.Required)
)
_SHOWN_CHARACTERS_MAX = 80
_GIVEN_HINT = "; what is no member of it but of the lifespan is asked for with = fairlead.GIVEN"
_Run = Callable[..., object]


class PayloadType:
    """What the payload of one kind has to be.

    Args:
        kind: for the sentences.
        run: its handler.

    Raises:
        ValueError: a parameter after the job can only be given by its place.
    """

    def __init__(self, kind: str, run: _Run) -> None:
        self._kind = kind
        self._run = run
        found = _parameters(run)
        self._job = next(iter(found), None)
        self._arguments = found[1:]
        for each in self._arguments:
            if each.kind is each.POSITIONAL_ONLY:
                raise ValueError(
                    f"{kind!r} takes {each.name} by its place alone: members of the payload "
                    "are given by name, so take away the / behind it"
                )

    @property
    def may_check(self) -> bool:
        """Whether the annotations may ask for a check; names in text are not looked up yet."""
        said = self._job.annotation if self._job else inspect.Parameter.empty
        if self._arguments or typing.get_args(said):
            return True
        return isinstance(said, str) and said.rpartition(".")[2] != "Job"

    @property
    def has_arguments(self) -> bool:
        """Whether the handler takes members of the payload as parameters."""
        return bool(self._arguments)

    def arguments(self, given: Sequence[object], named: Mapping[str, object]) -> object:
        """Return the payload that a call with these arguments, without a job, has.

        Raises:
            TypeError: the handler takes no such arguments.
        """
        if not self._arguments:
            if named or len(given) > 1:
                raise TypeError(f"{self._kind!r} takes its payload as one argument")
            return given[0] if given else None
        signature = inspect.Signature(self._arguments)
        try:
            return dict(signature.bind(*given, **named).arguments)
        except TypeError as error:
            raise TypeError(f"{self._kind!r}{signature}: {error}") from None

    def checked(self, payload: object) -> Json:
        """Return a payload as the JSON that is stored.

        Raises:
            InvalidPayload: it does not fit; the sentence says what is wrong.
        """
        found: Json
        try:
            text = json.dumps({} if payload is None else payload, default=self._plain)
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidPayload(
                f"payload of {self._kind!r} cannot be written as JSON: {error}"
            ) from None
        self.parse(text, quotes=True)
        return found

    def parse(self, text: str, *, quotes: bool = False) -> object:
        """Return the value of a payload's JSON text, as the handler wants it.

        The sentence quotes values and keys for who has given them, and not for a worker's log.

        Raises:
            InvalidPayload: it does not fit; the sentence says what is wrong.
        """
        adapter = self.adapter
        if adapter is None:
            return jsontext.parse("payload", text)
        try:
            return adapter.validate_json(text)
        except ValueError as error:
            raise InvalidPayload(
                _sentence(self._kind, cast("ValidationError", error), quotes=quotes)
            ) from None

    @functools.cached_property
    def adapter(self) -> "TypeAdapter[object] | None":
        """What checks, made when it is first needed; None: the payload may be anything.

        Raises:
            ValueError: the annotations cannot be read, or are nothing that can be checked.
        """
        try:
            wanted = self._wanted()
            if wanted is None:
                return None
            from pydantic import TypeAdapter  # noqa: PLC0415 - it takes time to load

            return TypeAdapter(cast("type[object]", _modern(wanted, ())))
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            given = bool(self._arguments) and not isinstance(error, NameError)
            hint = _GIVEN_HINT if given else ""
            raise ValueError(
                f"the types of {self._kind!r} cannot be used to check its payload: {said}{hint}"
            ) from error

    def _wanted(self) -> object:
        hints = _hints(self._run, [self._job, *self._arguments])
        if not self._arguments:
            args = typing.get_args(hints.get(self._job.name)) if self._job else ()
            return args[0] if args and _is_checkable(args[0]) else None
        fields = {each.name: hints.get(each.name, object) for each in self._arguments}
        optional = {each.name for each in self._arguments if each.default is not each.empty}
        return _typed_dict(self._kind, fields, optional)

    def _plain(self, value: object) -> object:
        """Return what json cannot write as something that it can."""
        try:
            return jsontext.plain(value)
        except TypeError:
            from pydantic_core import to_jsonable_python  # noqa: PLC0415 - it takes time to load

            return to_jsonable_python(value)


def _parameters(run: _Run) -> list[inspect.Parameter]:
    """Return the job's and those of members: what a wrapper hands on is not known.

    What the lifespan gives is no part of the payload.
    """
    return [
        each
        for each in parameters(run) or ()
        if each.kind not in VARIADIC and each.default is not GIVEN
    ]


def _hints(run: _Run, wanted: Sequence[inspect.Parameter | None]) -> dict[str, object]:
    """Return the types of these parameters, names in text looked up."""

    def carrier() -> None: ...

    carrier.__annotations__ = {
        each.name: each.annotation
        for each in wanted
        if each is not None and each.annotation is not each.empty
    }
    function = inspect.unwrap(run.func if isinstance(run, functools.partial) else run)
    if not hasattr(function, "__globals__"):  # an object that is called like a function
        function = type(function).__call__
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return typing.get_type_hints(carrier, globalns=names, include_extras=True)


def _is_checkable(wanted: object) -> bool:
    """Tell whether a type is, or has in it, one whose values can be checked."""
    parts = typing.get_args(wanted)
    if parts:
        return any(map(_is_checkable, parts))
    is_model = isinstance(wanted, type) and hasattr(cast("object", wanted), "model_fields")
    return is_model or _is_typed_dict(wanted) or is_dataclass(wanted)


def _is_typed_dict(wanted: object) -> bool:
    return isinstance(wanted, type) and hasattr(wanted, "__required_keys__")


def _modern(wanted: object, around: tuple[object, ...]) -> object:
    """Return a type whose TypedDicts are of the sort that pydantic takes on this Python."""
    if not _IS_OLD or wanted in around:
        return wanted
    if _is_typed_dict(wanted) and type(wanted).__module__ == "typing":
        made = cast("type", wanted)
        hints = typing.get_type_hints(made, include_extras=True)
        inner = (*around, wanted)
        fields = {name: _modern(_bare(hint), inner) for name, hint in hints.items()}
        optional = getattr(made, "__optional_keys__", frozenset[str]())
        return _typed_dict(made.__name__, fields, optional)
    parts, origin = typing.get_args(wanted), typing.get_origin(wanted)
    if not parts or origin in {typing.Literal, typing.Annotated}:
        return wanted
    replaced = tuple(_modern(each, around) for each in parts)
    if replaced == parts:
        return wanted
    if origin is types.UnionType:
        origin = typing.Union
    return cast("Mapping[object, object]", origin)[replaced]


def _typed_dict(name: str, fields: Mapping[str, object], optional: Container[str]) -> object:
    """Return a TypedDict with these fields, some of which may be missing."""
    make = cast("Callable[[str, dict[str, object]], object]", _words.TypedDict)
    return make(
        name,
        {
            field: _words.NotRequired[hint] if field in optional else hint
            for field, hint in fields.items()
        },
    )


def _bare(hint: object) -> object:
    """Return a field's type without the word that says whether it may be missing."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) in _PRESENCE else hint


def _sentence(kind: str, error: "ValidationError", *, quotes: bool) -> str:
    """Return what is wrong first, with its value and what would be right, in one sentence."""
    first, *others = error.errors(include_url=False, include_context=False)
    more = f" (and {len(others)} more)" if others else ""
    return f"payload of {kind!r} does not fit: {_fault(first, quotes=quotes)}{more}"


def _fault(fault: Mapping[str, object], *, quotes: bool) -> str:
    place = cast("tuple[object, ...]", fault["loc"])
    where = ".".join(map(str, place if quotes else place[:1])) or "it"
    if fault["type"] == "missing":
        return f"{where} is missing, give it"
    if fault["type"] == "extra_forbidden":
        return f"{where} is unknown, leave it out"
    value = repr(fault["input"]) if quotes else f"of type {type(fault['input']).__name__}"
    if len(value) > _SHOWN_CHARACTERS_MAX:
        value = value[:_SHOWN_CHARACTERS_MAX] + "…"
    said = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    said = said.replace("Input should be", "give", 1)
    return f"{where} is {value}, {said[:1].lower()}{said[1:]}"
