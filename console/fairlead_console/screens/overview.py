"""The overview: what needs attention first, how fast jobs go, pools, and queues by trouble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from fairlead.inspection import fleet
from fairlead.inspection.rows import Row
from fairlead_console.pages import health
from fairlead_console.pages.drawing import Segment, line, stacked
from fairlead_console.pages.values import Count
from fairlead_console.reads import moments
from fairlead_console.reads.examiner import Examination
from fairlead_console.reads.pulse import Rates
from fairlead_console.screens.source import Source

_QUEUES = 30
_DEAD_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool with its workers and slots, and what the autoscaler decided."""

    name: str
    workers: int
    slots: int
    running: int
    held: int
    bar: tuple[Segment, ...]
    jain: float | None
    pods: str
    """What the autoscaler says; empty: it does not scale this pool."""


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """What the overview shows."""

    health: health.Health
    unseen: int
    """How much the doctor could not look at."""
    rates: Rates | None
    rates_line: str
    waiting: Count
    scheduled: Count
    running: int
    oldest: Row | None
    """The queue with the oldest job that waits."""
    pools: tuple[Pool, ...]
    queues: tuple[Row, ...]
    queues_left_out: int
    now: datetime


def read(source: Source) -> OverviewPage:
    """Read the page, or what was read a moment ago."""
    # It may take a moment, which is none that the database was kept busy.
    examination = source.examiner.last()
    found = source.memo.get("overview", lambda: _read(source, examination))
    return cast("OverviewPage", found)


def _read(source: Source, examination: Examination | None) -> OverviewPage:
    with source.reads.one() as session:
        queues = list(source.queues(session))
        workers = fleet.workers(session, dead_seconds=_DEAD_SECONDS)
        shares = fleet.shares(session)
        decisions = fleet.pool_decisions(session)
        paused = moments.paused(session)
    findings = None if examination is None else examination.findings
    queues.sort(key=_trouble)
    waits = [row for row in queues if row["oldest_pending_at"] is not None]
    rates = source.pulse.rates()
    return OverviewPage(
        health=health.judged(findings, paused),
        unseen=0 if examination is None else len(examination.unseen),
        rates=rates,
        rates_line=line(rates.history) if rates is not None else "",
        waiting=_total(queues, "pending"),
        scheduled=_total(queues, "scheduled"),
        running=sum(int(str(row["running"])) for row in queues),
        oldest=min(waits, key=lambda row: str(row["oldest_pending_at"]), default=None),
        pools=tuple(_pools(workers, shares, decisions)),
        queues=tuple(queues[:_QUEUES]),
        queues_left_out=max(0, len(queues) - _QUEUES),
        now=datetime.now(UTC),
    )


def _trouble(row: Row) -> tuple[bool, datetime, str]:
    """Sort queues: the paused first, then by how long their oldest job has waited."""
    never = datetime.max.replace(tzinfo=UTC)
    oldest = cast("datetime | None", row["oldest_pending_at"])
    return (not row["paused"], oldest or never, str(row["queue"]))


def _total(queues: Sequence[Row], field: str) -> Count:
    number = sum(int(str(row[field])) for row in queues)
    return Count(number, any(bool(row[f"{field}_is_more"]) for row in queues))


def _pools(
    workers: Sequence[Row], shares: Sequence[Row], decisions: Sequence[Row]
) -> list[Pool]:
    jain = {str(row["pool"]): cast("float | None", row["jain"]) for row in shares}
    pods = {str(row["pool"]): _pods(row) for row in decisions}
    names = sorted({str(row["pool"]) for row in workers} | pods.keys())
    return [_pool(name, workers, jain.get(name), pods.get(name, "")) for name in names]


def _pool(name: str, workers: Sequence[Row], jain: float | None, pods: str) -> Pool:
    live = [row for row in workers if row["pool"] == name and row["state"] == "live"]
    slots, running, held = (
        sum(int(str(row[field])) for row in live) for field in ("slots", "running", "held")
    )
    parts = [("run", "run", float(running)), ("free", "free", float(max(slots - running, 0)))]
    bar = stacked(parts, total=max(float(slots), float(running), 1.0))
    return Pool(name, len(live), slots, running, held, bar, jain, pods)


def _pods(row: Row) -> str:
    decision = cast("Mapping[str, object]", row["decision"])
    counts = cast("Mapping[str, int]", decision.get("pods") or {})
    said = f"{counts.get('requested', 0)} pods"
    if counts.get("desired") != counts.get("requested"):
        said += f", {counts.get('desired')} wanted"
    return f"{said}: {decision.get('message') or decision.get('reason') or ''}"
