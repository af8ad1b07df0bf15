"""A decision of the autoscaler: the terms that ask for slots, bounds, and sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from fairlead_console.pages.drawing import Segment, stacked

_STALE = timedelta(minutes=3)
"""It writes a row once a minute at least."""

_BOUNDS = {"min": "least pods", "max": "most pods", "objectiveSeconds": "objective, in seconds"}
"""What a page calls the bounds."""


@dataclass(frozen=True, slots=True)
class Term:
    """What asks for slots, and how many."""

    name: str
    slots: float
    decides: bool
    """Whether it asks for most."""
    bar: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """How many pods a pool is to have, and why."""

    pool: str
    sentence: str
    reason: str
    pods: tuple[tuple[str, int], ...]
    terms: tuple[Term, ...]
    bounds: tuple[tuple[str, float], ...]
    limited: tuple[str, ...]
    conditions: tuple[str, ...]
    at: datetime
    is_stale: bool


def of_pool(pool: str, said: Mapping[str, object], *, at: datetime, now: datetime) -> Decision:
    """Read what the autoscaler wrote down; what is unknown is left out."""
    conditions = cast("list[Mapping[str, str]]", said.get("conditions") or [])
    limited = (*_texts(said.get("limitedBy")), *_texts(said.get("forbiddenBy")))
    return Decision(
        pool=pool,
        sentence=str(said.get("message") or ""),
        reason=str(said.get("reason") or ""),
        pods=tuple((name, round(count)) for name, count in _numbers(said.get("pods"))),
        terms=_terms(_numbers(said.get("slots"))),
        bounds=tuple(
            (_BOUNDS.get(name, name), value) for name, value in _numbers(said.get("limits"))
        ),
        limited=limited,
        conditions=tuple(
            f"{each.get('type')} {each.get('status')}: {each.get('message')}"
            for each in conditions
            if each.get("message")
        ),
        at=at,
        is_stale=now - at > _STALE,
    )


def _texts(found: object) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", found))) if isinstance(found, list) else ()


def _numbers(found: object) -> tuple[tuple[str, float], ...]:
    if not isinstance(found, dict):
        return ()
    named = cast("dict[str, object]", found).items()
    return tuple(
        (name, float(value)) for name, value in named if isinstance(value, int | float)
    )


def _terms(slots: tuple[tuple[str, float], ...]) -> tuple[Term, ...]:
    most = max((ask for _, ask in slots), default=0.0)
    return tuple(
        Term(
            name,
            ask,
            0.0 < ask == most,
            stacked([("run" if ask == most else "later", f"{ask:.3g}", ask)], total=most),
        )
        for name, ask in sorted(slots, key=lambda each: -each[1])
    )
