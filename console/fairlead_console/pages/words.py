"""How values stand on a page; instants are UTC, durations in their two largest units."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from fairlead.inspection import formats
from fairlead_console.pages.values import Count

NONE = "-"


def ago(instant: datetime | None, now: datetime) -> str:
    """Say how long ago an instant was."""
    return NONE if instant is None else formats.age(now - instant)


def span(duration: timedelta | float | None) -> str:
    """Say how long a duration is; a number is of seconds."""
    if duration is None:
        return NONE
    if isinstance(duration, timedelta):
        return formats.age(duration)
    return formats.age(timedelta(seconds=min(duration, 10.0**9)))


def instant(at: datetime | None) -> str:
    """Say an instant to the second."""
    return NONE if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def clock(at: datetime) -> str:
    """Say the time of day."""
    return f"{at.astimezone(UTC):%H:%M:%S}"


def number(value: float | None, digits: int = 0) -> str:
    """Say a number with its thousands apart."""
    return NONE if value is None else f"{value:,.{digits}f}"


def counted(value: Count) -> str:
    """Say a count, with `+` where counting stopped."""
    return formats.count(value.number, or_more=value.or_more)


def signed(value: float) -> str:
    """Say a number to a tenth with its sign; what rounds to nothing has none."""
    return f"{value:+,.1f}" if round(value, 1) else "0.0"


def percent(part: float | None) -> str:
    """Say a part of one."""
    return NONE if part is None else f"{part:.1%}"


def indented(value: object) -> str:
    """Return JSON as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def one_line(value: object) -> str:
    """Return JSON in one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


FILTERS: Mapping[str, Callable[..., str]] = {
    "ago": ago,
    "span": span,
    "instant": instant,
    "clock": clock,
    "number": number,
    "counted": counted,
    "signed": signed,
    "percent": percent,
    "indented": indented,
    "line": one_line,
}
