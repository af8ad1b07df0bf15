"""Queues and pools: depth, rates, what is paused and why; workers with their slots."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from fairlead.inspection import fleet
from fairlead.inspection.rows import Row
from fairlead_console.pages.drawing import Segment, stacked
from fairlead_console.reads import records
from fairlead_console.screens.source import Source

_SHOWN = 100
_DEAD_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue, with what is in it, what holds it, and how far its rates are used up."""

    row: Row
    pause: Row | None
    bar: tuple[Segment, ...]
    rates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker, and what of its slots runs."""

    row: Row
    state: str
    bar: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class QueuesPage:
    """What the page of queues and pools shows."""

    queues: tuple[Queue, ...]
    tenant_pauses: tuple[Row, ...]
    next_after: str | None
    after: str | None
    workers: tuple[Worker, ...]
    workers_left_out: int
    now: datetime


def read(source: Source, after: str | None) -> QueuesPage:
    """Read the page, or what was read a moment ago."""
    found = source.memo.get(("queues", after), lambda: _read(source, after))
    return cast("QueuesPage", found)


def _read(source: Source, after: str | None) -> QueuesPage:
    with source.reads.one() as session:
        rows = [
            row for row in source.queues(session) if after is None or str(row["queue"]) > after
        ]
        shown = rows[:_SHOWN]
        pauses = records.pauses(session)
        rates = records.rates(session, [str(row["queue"]) for row in shown])
        workers = fleet.workers(session, dead_seconds=_DEAD_SECONDS)
    most = max((_held(row) for row in shown), default=0)
    whole = {str(row["queue"]): row for row in pauses if row["tenant"] is None}
    return QueuesPage(
        queues=tuple(_queue(row, whole, rates, most) for row in shown),
        tenant_pauses=tuple(row for row in pauses if row["tenant"] is not None),
        next_after=str(shown[-1]["queue"]) if len(rows) > _SHOWN else None,
        after=after,
        workers=tuple(_worker(row) for row in workers[:_SHOWN]),
        workers_left_out=max(0, len(workers) - _SHOWN),
        now=datetime.now(UTC),
    )


def _held(row: Row) -> int:
    return sum(int(str(row[name])) for name in ("pending", "queued", "running"))


def _queue(row: Row, pauses: dict[str, Row], rates: Sequence[Row], most: int) -> Queue:
    parts = [
        ("run", f"{row['running']} running", float(str(row["running"]))),
        ("later", f"{row['queued']} queued", float(str(row["queued"]))),
        ("wait", f"{row['pending']} pending", float(str(row["pending"]))),
    ]
    name = str(row["queue"])
    said = tuple(_rate(each) for each in rates if each["queue"] == name)
    return Queue(row, pauses.get(name), stacked(parts, total=float(most)), said)


def _rate(row: Row) -> str:
    seconds, used = (float(str(row[name])) for name in ("window_seconds", "used_seconds"))
    whose = "" if row["tenant"] is None else f" of tenant “{row['tenant']}”, the fullest"
    return f"{used / seconds:.0%} of its {seconds:g} s{whose}"


def _worker(row: Row) -> Worker:
    slots, running, held = (int(str(row[name])) for name in ("slots", "running", "held"))
    parts = [("run", f"{running} running", float(running))]
    state = str(row["state"])
    if state == "live" and row["drain_until"] is not None:
        state = "draining" if row["drained_at"] is None else "drained"
    bar = stacked(parts, total=max(float(slots), float(running), 1.0))
    return Worker({**row, "held": held}, state, bar)
