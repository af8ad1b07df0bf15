"""Values of the database that Python has no type for, read as the nearest that it has.

No INSERT is admitted with such a value, but a superuser or a restore without triggers can store
one, and a list of jobs is not to fail for a single row of it.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import cast

from psycopg.abc import AdaptContext, Buffer
from psycopg.errors import DataError
from psycopg.types.datetime import IntervalLoader, TimestamptzLoader
from psycopg.types.json import set_json_loads

LEVELS_MAX = 500
"""How deep a JSON value may be nested; half of Python's limit for calls."""
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class _ClampedInstant(TimestamptzLoader):
    """Reads what is before the year 1 or after 9999, infinity too, as the first or last one."""

    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            said = bytes(data)
            return _FIRST if said.startswith(b"-") or said.endswith(b"BC") else _LAST


class _ClampedDuration(IntervalLoader):
    """Reads what is longer than timedelta can be as the longest one."""

    def load(self, data: Buffer) -> timedelta:
        try:
            return super().load(data)
        except DataError:
            return timedelta.min if bytes(data).startswith(b"-") else timedelta.max


def register(context: AdaptContext) -> None:
    """Have a connection read such values."""
    context.adapters.register_loader("timestamptz", _ClampedInstant)
    context.adapters.register_loader("interval", _ClampedDuration)
    set_json_loads(loads, context)


def loads(text: str | bytes) -> object:
    """Return a JSON value, or its text where its numbers are too long or it is too deep.

    Python can read deeper values than it can indent: 3.12 does with 933 to 1,400 levels.
    """
    try:
        value = json.loads(text)
        if _fits(value):
            return value
    except (ValueError, RecursionError):
        pass
    return text if isinstance(text, str) else text.decode()


def _fits(value: object) -> bool:
    level = [value]
    for _ in range(LEVELS_MAX):
        level = [each for outer in level for each in _inner(outer)]
        if not level:
            return True
    return False


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()
