"""How people read and write durations, counts and instants: pure, without a clock."""

import re
from datetime import UTC, datetime, timedelta

ID_MAX = 2**63 - 1
"""The highest number that a job, a worker or a version of the policy may have."""
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "": 1.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|)\s*")


def age(duration: timedelta | None) -> str:
    """Say a duration in its two largest units: `3 m 12 s`. Under a second: `0.4 s`."""
    if duration is None:
        return "-"
    seconds = duration.total_seconds()
    if abs(seconds) < 1:
        return f"{seconds:.1f} s"
    sign, rest, said = ("-" if seconds < 0 else ""), abs(round(seconds)), list[str]()
    for name, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or said:
            said.append(f"{count} {name}")
    whole = [part for part in said[:2] if not part.startswith("0 ")]
    return sign + " ".join(whole)


def since(instant: datetime | None, *, now: datetime) -> str:
    """Say how long ago an instant was."""
    return "-" if instant is None else age(now - instant)


def until(instant: datetime | None, *, now: datetime) -> str:
    """Say how long it is to an instant."""
    return "-" if instant is None else age(instant - now)


def count(number: int, *, or_more: bool = False) -> str:
    """Say a number with its thousands apart; `+` when counting stopped there."""
    return f"{number:,}{'+' if or_more else ''}"


def jobs(number: int) -> str:
    """Say how many jobs: `no job`, `1 job`, `2 jobs`."""
    return {0: "no job", 1: "1 job"}.get(number, f"{number:,} jobs")


def printable(text: str) -> str:
    """Escape what would steer a terminal: a queue may be called anything."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def duration(text: str) -> timedelta:
    """Read `90`, `90s`, `1.5 h` or `2m30s`; a number alone is seconds.

    Raises:
        ValueError: it is none of these; the sentence says what is.
    """
    parts = _PART.findall(text)
    if not text.strip() or _PART.sub("", text.strip()):
        raise ValueError("give a duration such as 90s, 5m, 2h30m or 1d")
    try:
        return timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    except OverflowError:
        raise ValueError("that is too long: give a duration such as 90s, 5m or 2h30m") from None


def instant(text: str) -> datetime:
    """Read an instant in ISO form; without a zone it is UTC.

    Raises:
        ValueError: it is none; the sentence says what is.
    """
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("give an instant such as 2026-11-21T09:30:00+01:00") from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
