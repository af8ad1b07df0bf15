"""How the demo ends: what the database says happened, as a table and a picture."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from rich.table import Table

from examples.demo import edit_result
from examples.demo.edit_effect import Effect
from examples.demo.sources import Classes
from examples.demo.watch import wait
from fairlead.db.connect import Connection
from fairlead.db.statements import load


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the application's own record says of its jobs."""

    enqueued: int
    lost: int
    doubled: int
    unsuccessful: int
    measured: int
    recovered: int
    """Jobs that a killed worker held."""
    lines: int
    seconds: float
    roll_ups: int
    ended: int
    interrupted: int
    """Jobs that a worker held when it was stopped because fewer were needed."""

    @property
    def good(self) -> bool:
        """Nothing lost, nothing done twice, nothing failed, nothing interrupted."""
        return not (self.lost or self.doubled or self.unsuccessful or self.interrupted)


@dataclass(frozen=True, slots=True)
class Change:
    """One decision that there be more workers or fewer."""

    seconds: float
    """After the run began."""
    former: int
    workers: int
    reason: str
    says: str


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers there were, and why."""

    at_first: int
    at_most: int
    at_the_end: int
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """One job that ran: how long it waited, and when it ended after the run began."""

    kind: str
    tenant: str
    wait_seconds: float
    ended_seconds: float


def outcome(connection: Connection) -> Outcome:
    """Read the result back from the database."""
    row = connection.execute(load("examples.demo", "outcome")).fetchone()
    assert row is not None
    numbers = [float(str(value or 0)) for value in row]
    counts = [int(number) for number in numbers]
    return Outcome(
        enqueued=counts[0],
        lost=counts[1],
        doubled=counts[2],
        unsuccessful=counts[3],
        measured=counts[4],
        recovered=counts[5],
        lines=counts[6],
        seconds=numbers[7],
        roll_ups=counts[8],
        ended=counts[9],
        interrupted=counts[10],
    )


def waits(connection: Connection, began: datetime) -> tuple[Wait, ...]:
    """Read every job's wait."""
    rows = connection.execute(load("examples.demo", "waits"), {"began": began}).fetchall()
    return tuple(
        Wait(str(kind), str(tenant), float(str(waited)), float(str(ended)))
        for kind, tenant, waited, ended in rows
    )


def counts(result: Outcome, workers: Workers) -> Table:
    """Lay out what became of the jobs."""
    out = Table(title="What the database says", show_header=False)
    out.add_column()
    out.add_column(justify="right")
    out.add_row("jobs ended", f"{result.ended:,}")
    out.add_row("jobs ended a second", f"{result.ended / max(result.seconds, 0.1):,.0f}")
    out.add_row("lines of Python measured", f"{result.lines:,}")
    out.add_row("nightly roll-ups fired", f"{result.roll_ups:,}")
    out.add_row("jobs taken back from the killed", f"{result.recovered:,}")
    number = f"{workers.at_first} → {workers.at_most} → {workers.at_the_end}"
    out.add_row("workers at first, at most, at the end", number)
    for name, count in (
        ("jobs interrupted by taking workers away", result.interrupted),
        ("jobs lost", result.lost),
        ("jobs finished twice", result.doubled),
        ("jobs failed", result.unsuccessful),
    ):
        out.add_row(name, f"[{'red' if count else 'green'}]{count}[/]")
    return out


def scaled(workers: Workers) -> Table:
    """Lay out when workers came and went, and why."""
    out = Table(title="How many workers there were, by the autoscaler's decision")
    out.add_column("after", justify="right")
    out.add_column("workers", justify="right")
    out.add_column("why")
    for each in workers.changes:
        number = f"{each.former} → {each.workers}"
        out.add_row(f"{each.seconds:.1f} s", number, f"{each.reason}: {each.says}")
    return out


def waiting(waited: Sequence[Wait], classes: Classes) -> Table:
    """Lay out how long the jobs of each class waited for a slot."""
    out = Table(title="How long a job waited, from when it could run until it started")
    out.add_column("jobs of")
    for name in ("jobs", "half under", "99 % under"):
        out.add_column(name, justify="right")
    for each in _classes(waited, classes):
        half, most = wait(each.p50_seconds), wait(each.p99_seconds)
        out.add_row(each.jobs_of, f"{each.jobs:,}", half, most)
    return out


def as_json(
    result: Outcome,
    waited: Sequence[Wait],
    classes: Classes,
    edit: Effect | None,
    workers: Workers,
) -> dict[str, object]:
    """Return what the tables say as one JSON object."""
    waits = [asdict(each) for each in _classes(waited, classes)]
    return {
        **asdict(result),
        "good": result.good,
        "workers": asdict(workers),
        "waits": waits,
        "edit": None if edit is None else edit_result.as_json(edit),
    }


@dataclass(frozen=True, slots=True)
class _Class:
    """How long the jobs of some tenants waited for a slot."""

    jobs_of: str
    jobs: int
    p50_seconds: float
    p99_seconds: float


def _classes(waited: Sequence[Wait], classes: Classes) -> Iterator[_Class]:
    """Sum up the waits of each class of jobs that there are any of."""
    small, large, largest = classes.small, classes.large, classes.largest
    measured = [each for each in waited if each.kind == "measure"]
    found = (
        (f"{len(small)} small packages", [w for w in measured if w.tenant in small]),
        (f"{len(large)} large packages", [w for w in measured if w.tenant in large]),
        (f"{largest}, the largest package", [w for w in measured if w.tenant == largest]),
        ("urgent calls", [w for w in waited if w.kind == "urgent"]),
        ("reminders, from when they fell due", [w for w in waited if w.kind == "remind"]),
    )
    for name, these in found:
        seconds = sorted(w.wait_seconds for w in these)
        if seconds:
            half, most = _quantile(seconds, 0.5), _quantile(seconds, 0.99)
            yield _Class(name, len(seconds), half, most)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
