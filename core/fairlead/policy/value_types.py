"""Types of values in a policy: how each is read, written and described in JSON Schema.

A value that is not of its type raises ValueError with the rest of a sentence: what it must be,
and what it is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from fairlead import durations
from fairlead.jsontext import Json

T = TypeVar("T")

NAME_BYTES_MAX = 128
_SHOWN_MAX = 40
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,2})?)%", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{12}")
_FIELD = "[A-Za-z_][A-Za-z0-9_-]*"
_PATH = re.compile(rf"(?:payload|headers)(?:\.{_FIELD}){{1,8}}", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class ValueType(Generic[T]):
    """A type of value, for `Annotated`: pydantic calls it to read, write and describe one."""

    read: Callable[[object], T]
    schema: Mapping[str, Json]
    write: Callable[[T], Json] | None = None

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return a schema that validates with `read` only."""
        written = self.write and core_schema.plain_serializer_function_ser_schema(self.write)
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=written or None
        )

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe what `read` accepts."""
        return dict(self.schema)


def display(value: object) -> str:
    """Return a value of a document in a few characters, for a message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"'{shortened(value)}'"
        case _:
            return shortened(str(value))


def shortened(text: str) -> str:
    """Return a text cut to 40 characters, with control characters escaped."""
    text = text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def number(lowest: float, highest: float) -> ValueType[float]:
    """Return the type of numbers between two inclusive bounds."""

    def read(value: object) -> float:
        found = _number(value)
        if found is not None and lowest <= found <= highest:
            return found
        raise ValueError(f"must be {demand}, not {display(value)}")

    demand = f"a number from {lowest:,g} to {highest:,g}"
    return ValueType(
        read, {"type": "number", "minimum": lowest, "maximum": highest}, shortest_number
    )


def integer(lowest: int, highest: int) -> ValueType[int]:
    """Return the type of integers between two inclusive bounds."""

    def read(value: object) -> int:
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and lowest <= value <= highest
        ):
            return value
        raise ValueError(f"must be {demand}, not {display(value)}")

    demand = f"a whole number from {lowest:,} to {highest:,}"
    return ValueType(read, {"type": "integer", "minimum": lowest, "maximum": highest})


def duration(lowest: str, highest: str) -> ValueType[timedelta]:
    """Return the type of durations between two inclusive bounds."""

    def read(value: object) -> timedelta:
        found = durations.read(value) if isinstance(value, str) else None
        if found is None:
            unit = ": give a unit" if isinstance(value, int | float) else ""
            raise ValueError(f"must be {form}, not {display(value)}{unit}")
        if not least <= found <= most:
            raise ValueError(f"must be {lowest} to {highest}, not {value}")
        return found

    form = "a duration such as 500ms, 5s, 2m or 1h"
    bounds = [durations.read(bound) for bound in (lowest, highest)]
    least, most = (bound for bound in bounds if bound is not None)
    pattern = f"^{durations.PATTERN}$"
    return ValueType(
        read,
        {"type": "string", "pattern": pattern, "x-lowest": lowest, "x-highest": highest},
        format_duration,
    )


def format_duration(duration: timedelta) -> str:
    """Return a duration as text, in the largest unit of which it is a whole number."""
    us = duration // durations.MICROSECOND
    for unit, size in reversed(durations.UNITS_US.items()):
        if us % size == 0:
            return f"{us // size}{unit}"
    return f"{us // 1000}.{us % 1000:03}ms"


def slot_count(highest: int) -> ValueType[int | str]:
    """Return the type of slot counts: a number, or a percentage of the pool's slots."""

    def read(value: object) -> int | str:
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= highest:
            return value
        match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        if match is None or not 0 < Decimal(match[1]) <= 100:
            raise ValueError(f"must be {demand}, not {display(value)}")
        return f"{Decimal(match[1]).normalize():f}%"

    demand = f'a whole number from 1 to {highest:,} or a percentage from "0.01%" to "100%"'
    count: Json = {"type": "integer", "minimum": 1, "maximum": highest}
    percent: Json = {"type": "string", "pattern": f"^{_PERCENT.pattern}$"}
    return ValueType(read, {"anyOf": [count, percent]})


def name(
    *, what: str, bytes_lowest: int = 1, bytes_max: int = NAME_BYTES_MAX
) -> ValueType[str]:
    """Return the type of names and patterns of names."""

    def read(value: object) -> str:
        if isinstance(value, str) and bytes_lowest <= len(value.encode()) <= bytes_max:
            return value
        quoted = ": put it in quotes" if isinstance(value, int | float) else ""
        raise ValueError(f"must be {demand}, not {display(value)}{quoted}")

    demand = f"{what} as text of {bytes_lowest} to {bytes_max} bytes"
    return ValueType(
        read, {"type": "string", "minLength": bytes_lowest, "maxLength": bytes_max}
    )


def label() -> ValueType[str]:
    """Return the type of label matches, such as `tier=free`."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.partition("=")[0] or "=" not in value:
            raise ValueError(f"must be a label such as tier=free, not {display(value)}")
        if len(value.encode()) > 2 * NAME_BYTES_MAX + 1:
            raise ValueError(f"must be a label of at most 257 bytes, not {display(value)}")
        return value

    return ValueType(read, {"type": "string", "pattern": "^[^=]+=", "maxLength": 257})


def label_key() -> ValueType[str]:
    """Return the type of label names: without `=`, so that a label match can name them."""
    plain = name(what="a label's name")

    def read(value: object) -> str:
        found = plain.read(value)
        if "=" in found:
            raise ValueError(f"must be a label's name without =, not {display(value)}")
        return found

    return ValueType(read, plain.schema)


def path() -> ValueType[str]:
    """Return the type of paths to a value in a job."""

    def read(value: object) -> str:
        if isinstance(value, str) and len(value) <= NAME_BYTES_MAX and _PATH.fullmatch(value):
            return value
        raise ValueError(f"must be {demand}, not {display(value)}")

    demand = f"a path such as payload.account_id of at most {NAME_BYTES_MAX} bytes"
    return ValueType(
        read, {"type": "string", "pattern": f"^{_PATH.pattern}$", "maxLength": NAME_BYTES_MAX}
    )


def one_of(*words: str) -> ValueType[str]:
    """Return the type of values that are one of a few words."""

    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(f"must be {' or '.join(words)}, not {display(value)}")

    return ValueType(read, {"type": "string", "enum": list(words)})


def version_label() -> ValueType[int | str]:
    """Return the type of an operator's own version label: a number or a word."""

    def read(value: object) -> int | str:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15:
            return value
        if isinstance(value, str) and 1 <= len(value.encode()) <= 64 and value.isprintable():
            return value
        quoted = ": put it in quotes" if isinstance(value, float) else ""
        demand = "a whole number from 0 to 15 digits or a word of 1 to 64 bytes"
        raise ValueError(f"must be {demand}, not {display(value)}{quoted}")

    count: Json = {"type": "integer", "minimum": 0}
    word: Json = {"type": "string", "minLength": 1, "maxLength": 64}
    return ValueType(read, {"anyOf": [count, word]})


def version_reference() -> ValueType[int | str]:
    """Return the type of references to stored policies: a number, or a digest."""

    def read(value: object) -> int | str:
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 10**11:
            return value
        if isinstance(value, str) and _DIGEST.fullmatch(value):
            return value
        demand = "a number of `fairlead policy history` or a digest of 12 hexadecimal digits"
        quoted = ": put a digest in quotes" if isinstance(value, int | float) else ""
        raise ValueError(f"must be {demand}, not {display(value)}{quoted}")

    count: Json = {"type": "integer", "minimum": 1}
    word: Json = {"type": "string", "pattern": f"^{_DIGEST.pattern}$"}
    return ValueType(read, {"anyOf": [count, word]})


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def shortest_number(value: float) -> Json:
    """Return a number as an int if it has no fraction."""
    return int(value) if value.is_integer() else value
