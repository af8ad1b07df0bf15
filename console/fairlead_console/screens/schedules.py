"""Schedules: when each fires, in words and in its zone, and what keeps it from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import cast
from urllib.parse import urlencode

from fairlead.cron_times import BadSchedule, parse
from fairlead.inspection.rows import Row
from fairlead_console.pages import cron_words
from fairlead_console.reads import records
from fairlead_console.screens.source import Source

_PAGE = 50
_FIRES = 3


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule, in words."""

    row: Row
    words: str
    """Its cron expression; empty: it has no words."""
    fires: tuple[datetime, ...]
    """The next, in its zone."""
    problem: str


@dataclass(frozen=True, slots=True)
class SchedulesPage:
    """What the page of schedules shows."""

    schedules: tuple[Schedule, ...]
    next_href: str | None
    is_first: bool
    now: datetime


def read(source: Source, after: tuple[str, str] | None) -> SchedulesPage:
    """Read the page behind a tenant and a name, or what was read a moment ago."""
    found = source.memo.get(("schedules", after), lambda: _read(source, after))
    return cast("SchedulesPage", found)


def _read(source: Source, after: tuple[str, str] | None) -> SchedulesPage:
    with source.reads.one() as session:
        rows = records.schedules(session, after, _PAGE + 1)
    now = datetime.now(UTC)
    shown = rows[:_PAGE]
    href = None
    if len(rows) > _PAGE:
        last = shown[-1]
        href = "/schedules?" + urlencode({"tenant": last["tenant"], "after": last["name"]})
    return SchedulesPage(
        schedules=tuple(_schedule(row, now) for row in shown),
        next_href=href,
        is_first=after is None,
        now=now,
    )


def _schedule(row: Row, now: datetime) -> Schedule:
    expression, zone = str(row["cron"]), str(row["timezone"])
    problem = str(row["problem"] or "")
    try:
        fires = tuple(islice(_fires(expression, zone, now), _FIRES))
    except BadSchedule as error:
        return Schedule(row, "", (), problem or f"{error}")
    return Schedule(row, cron_words.of(expression), fires, problem)


def _fires(expression: str, zone: str, now: datetime) -> Iterator[datetime]:
    cron = parse(expression, zone)
    for fire in cron.after(now):
        yield fire.astimezone(cron.zone)
