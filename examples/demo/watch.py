"""What the demo shows while it runs: one reading of the database, drawn or as a plain line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fairlead.db.connect import Connection
from fairlead.db.statements import load

_TENANTS_SHOWN = 8
_EVENTS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant's jobs so far; waits are from runnable to claimed."""

    name: str
    done: int
    total: int
    wait_p50_seconds: float
    wait_p99_seconds: float


@dataclass(frozen=True, slots=True)
class Worker:
    """One live worker and how many of its slots are busy."""

    name: str
    slots: int
    running: int
    id: int


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The policy in force, and what the tenants that it is about get of the slot-time."""

    version: int
    digest: str
    tenants: tuple[str, ...]
    share: float | None


@dataclass(frozen=True, slots=True)
class Scaled:
    """How many workers were decided on last, and why: a word and its sentence."""

    pods: int
    reason: str
    says: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the fleet."""

    seconds: float
    ended: int
    unfinished: int
    coming: int
    queued: int
    running: int
    recovered: int
    leader: str
    tenants: tuple[Tenant, ...] = ()
    workers: tuple[Worker, ...] = ()
    events: Sequence[str] = field(default_factory=tuple[str])
    in_force: PolicyInForce | None = None
    scaled: Scaled | None = None

    @property
    def fraction(self) -> float:
        """The share of all jobs known now, inserted or not, that has ended."""
        return self.ended / max(1, self.known)

    @property
    def known(self) -> int:
        """All jobs known now, inserted or about to be."""
        return self.ended + self.unfinished + self.coming


def read(
    connection: Connection,
    *,
    seconds: float,
    coming: int,
    totals: Mapping[str, int],
    names: Mapping[int, str],
    events: Sequence[str],
    in_force: PolicyInForce | None,
) -> Reading:
    """Look once; `names` tells the fleet's programs by process id."""
    progress = connection.execute(load("examples.demo", "progress")).fetchone()
    assert progress is not None
    _, ended, unfinished, queued, running, recovered = (int(str(each)) for each in progress)
    leader = connection.execute(load("examples.demo", "leader")).fetchone()
    rows = connection.execute(load("examples.demo", "tenants")).fetchall()
    done = {str(row[0]): row for row in rows}
    tenants = tuple(_tenant(name, total, done.get(name)) for name, total in totals.items())
    workers = tuple(
        Worker(str(row[0]), int(str(row[2])), int(str(row[3])), int(str(row[4])))
        for row in connection.execute(load("examples.demo", "workers")).fetchall()
        if row[1] == "live"
    )
    # A holder is host:pid:nonce. One that is none of our processes was killed with its lease.
    who = (
        names.get(int(str(leader[0]).split(":")[1]), "no scheduler")
        if leader
        else "no scheduler"
    )
    return Reading(
        seconds=seconds,
        ended=ended,
        unfinished=unfinished,
        coming=coming,
        queued=queued,
        running=running,
        recovered=recovered,
        leader=who,
        tenants=tenants,
        workers=workers,
        events=tuple(events),
        in_force=in_force,
        scaled=_scaled(connection),
    )


def _scaled(connection: Connection) -> Scaled | None:
    row = connection.execute(load("examples.demo", "decision")).fetchone()
    return None if row is None else Scaled(int(str(row[0])), str(row[1]), str(row[2]))


def _tenant(name: str, total: int, row: tuple[object, ...] | None) -> Tenant:
    if row is None:
        return Tenant(name, 0, total, 0.0, 0.0)
    return Tenant(name, int(str(row[1])), total, float(str(row[2])), float(str(row[3])))


def line(reading: Reading) -> str:
    """Say it in one line of at most 80 characters, for where there is no terminal."""
    return (
        f"{reading.seconds:5.1f} s {reading.fraction:4.0%}  {reading.ended} ended, "
        f"{reading.unfinished} left: {reading.queued} queued, {reading.running} running; "
        f"{reading.leader} leads"
    )


def policy_text(in_force: PolicyInForce) -> str:
    """Say in at most 80 characters which policy is in force, and what its tenants get."""
    said = f"policy {in_force.version} ({in_force.digest})"
    if in_force.share is None:
        return said
    names, have = (
        together(in_force.tenants)[:23],
        "has" if len(in_force.tenants) == 1 else "have",
    )
    return f"{said}: {names} {have} {in_force.share:.0%} of slot-time"


def why(scaled: Scaled) -> str:
    """Say in one line how many workers there are to be, and why."""
    number = "1 worker" if scaled.pods == 1 else f"{scaled.pods} workers"
    return f"{number}: {scaled.says}"


def together(tenants: Sequence[str]) -> str:
    """Return tenants' names as one word of a line."""
    return " + ".join(tenants)


def draw(reading: Reading) -> RenderableType:
    """Draw it for a terminal."""
    head = Table.grid(padding=(0, 2))
    head.add_row(
        ProgressBar(total=1.0, completed=reading.fraction, width=40),
        f"[bold]{reading.ended}[/] of {reading.known} jobs",
        f"{reading.ended / max(reading.seconds, 0.1):.0f} jobs/s",
        f"{reading.seconds:.0f} s",
    )
    depth = Text(
        f"pending {reading.unfinished - reading.queued - reading.running}   "
        f"queued {reading.queued}   running {reading.running}   "
        f"taken back from the dead {reading.recovered}"
    )
    policy = Text(policy_text(reading.in_force) if reading.in_force else "", style="cyan")
    workers = Text(why(reading.scaled) if reading.scaled else "", style="cyan")
    body = Columns([_tenant_table(reading), _worker_table(reading)])
    events = Text("\n".join(reading.events[-_EVENTS_SHOWN:]) or " ", style="yellow")
    return Panel(Group(head, depth, policy, workers, body, events), title="Fairlead", width=100)


def _tenant_table(reading: Reading) -> Table:
    table = Table(title="tenants", box=None, pad_edge=False)
    table.add_column("package")
    for name in ("done", "of", "wait p50", "p99"):
        table.add_column(name, justify="right")
    shown = reading.tenants[:_TENANTS_SHOWN]
    rest = reading.tenants[_TENANTS_SHOWN:]
    for each in shown:
        table.add_row(
            each.name[:20],
            str(each.done),
            str(each.total),
            wait(each.wait_p50_seconds),
            wait(each.wait_p99_seconds),
        )
    if rest:
        table.add_row(
            f"{len(rest)} smaller",
            str(sum(each.done for each in rest)),
            str(sum(each.total for each in rest)),
            "",
            wait(max(each.wait_p99_seconds for each in rest)),
        )
    return table


def _worker_table(reading: Reading) -> Table:
    table = Table(title=f"leader: {reading.leader}", box=None, pad_edge=False)
    table.add_column("worker", min_width=9)  # the title is there before any worker
    table.add_column("busy slots")
    for each in reading.workers:
        table.add_row(each.name, "■" * each.running + "·" * max(0, each.slots - each.running))
    return table


def wait(seconds: float) -> str:
    """Return a wait as people read it."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
