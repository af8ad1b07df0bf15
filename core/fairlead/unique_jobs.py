"""How a job is the only one of its dedup key, as SQL's `enqueue` is told.

It refuses what that refuses, before anything is sent.
"""

from datetime import datetime, timedelta
from typing import Protocol

from fairlead.errors import check_is_duration

_DAY_SECONDS = 86_400.0
_BOUNDS = {
    "debounce": (0.001, 30 * _DAY_SECONDS, "1 ms to 30 days"),
    "unique_for": (1.0, 31 * _DAY_SECONDS, "1 s to 31 days"),
}


class _Unique(Protocol):
    """What `fairlead.NewJob` says of it."""

    @property
    def run_at(self) -> datetime | None: ...
    @property
    def dedup_key(self) -> str | None: ...
    @property
    def replace(self) -> bool: ...
    @property
    def debounce(self) -> float | timedelta | None: ...
    @property
    def debounce_max(self) -> float | timedelta | None: ...
    @property
    def unique_for(self) -> float | timedelta | None: ...


def fields(job: _Unique) -> dict[str, object]:
    """Return what concerns its key, beside the key: nothing where any other job is kept.

    Raises:
        TypeError: `replace` is no bool, or another one no duration.
        ValueError: it is out of bounds, or does not go together.
    """
    spans = {
        name: value
        for name, value in (
            ("debounce", job.debounce),
            ("debounce_max", job.debounce_max),
            ("unique_for", job.unique_for),
        )
        if value is not None
    }
    if not (job.replace or spans):
        return {}
    _check_is_bool("replace", job.replace)
    for name, value in spans.items():
        check_is_duration(name, value)
    fault = _contradiction(job) or _out_of_bounds(spans)
    if fault is not None:
        raise ValueError(fault)
    if job.dedup_key is None:
        name = next(iter(spans), "replace")
        raise ValueError(f"dedup_key is None: {name} needs the key that makes jobs one")
    return {"replace": job.replace, **{name: interval(each) for name, each in spans.items()}}


def _check_is_bool(name: str, value: object) -> None:
    """Refuse what an untyped caller may give: a text would be sent as it is."""
    if not (value is None or isinstance(value, bool)):
        raise TypeError(f"{name} is {value!r}: give True or False")


def _contradiction(job: _Unique) -> str | None:
    """Return what does not go together, as a sentence."""
    if job.debounce is None and job.debounce_max is not None:
        return f"debounce_max is {job.debounce_max} without a debounce: give both, or neither"
    if job.unique_for is not None and (job.replace or job.debounce is not None):
        return (
            f"unique_for is {job.unique_for} beside replace or debounce: a job is kept or "
            "replaced, so give one of them"
        )
    if job.debounce is not None and job.run_at is not None:
        return (
            f"run_at is {job.run_at} beside debounce, which says when the job runs: give one "
            "of them"
        )
    return None


def _out_of_bounds(spans: dict[str, float | timedelta]) -> str | None:
    """Return which span is out of bounds, as a sentence."""
    for name, (least, most, words) in _BOUNDS.items():
        if name in spans and not least <= seconds(spans[name]) <= most:
            return f"{name} is {spans[name]}: give {words}"
    if "debounce_max" in spans:
        least = seconds(spans["debounce"])
        if not least <= seconds(spans["debounce_max"]) <= 365 * _DAY_SECONDS:
            return (
                f"debounce_max is {spans['debounce_max']}: give {spans['debounce']}, which is "
                "debounce, to 365 days"
            )
    return None


def seconds(duration: float | timedelta) -> float:
    """Return a duration in seconds."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def interval(duration: float | timedelta | None) -> str | None:
    """Return a duration as PostgreSQL reads it."""
    return None if duration is None else f"{seconds(duration)} s"
