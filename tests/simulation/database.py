"""A database in simulated time: what is committed, what is open, and what is locked.

It knows transactions as far as the services' code depends on them: ids are drawn before a
commit, a commit comes late or never, an open transaction keeps its rows locked, and a snapshot
has its bounds. What the statements do to it is in `statements`.
"""

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fairlead_scheduler.pending.values import Paused, Stream
from fairlead_scheduler.rows import Move
from tests.support.fleet import Job
from tests.support.simulated_jobs import SECOND, Clock

BASE_US = 1_700_000_000 * SECOND
"""The database's time when a simulation begins."""


def unheard(channel: str, payload: str) -> None:
    """Let nobody hear a notification."""
    del channel, payload


@dataclass(slots=True)
class Row(Job):
    """A job's rows of `jobs` and of `work_queue`; the times of `Job` are simulated time."""

    run_at_us: int | None = None
    """Until when it is scheduled, on the database's clock."""
    lock: int | None = None
    """The open transaction that has locked it."""
    worker: int | None = None
    token: int = 0
    claimed_at_us: int | None = None
    """When it was claimed, on the database's clock."""
    since_us: int = 0
    """Since when it waits."""


@dataclass(slots=True)
class WorkerRow:
    """A row of `worker_leases`."""

    id: int
    pool: str
    slots: int
    lease_until_us: int
    draining: bool = False
    dead: bool = False


@dataclass(slots=True)
class Leaders:
    """The row of `leaders`."""

    epoch: int = 0
    holder: str = ""
    lease_until_us: int = 0
    taken_at_us: int = 0


@dataclass(slots=True)
class Receipt:
    """A row of `receipts`."""

    id: int
    at_us: int
    worker: int | None = None
    claimed: list[int] | None = None
    ended: list[int] | None = None
    run_us: list[int] | None = None
    returned: list[int] | None = None
    moved: list[Move] | None = None


@dataclass(slots=True)
class Database:
    """Everything that is committed, and the transactions that are open."""

    clock: Clock
    worker_lease_us: int
    offset_us: int = 0
    """How far the database's clock was set on since the beginning."""
    jobs: dict[int, Row] = field(default_factory=dict[int, Row])
    """Unfinished jobs."""
    known: dict[int, Row] = field(default_factory=dict[int, Row])
    """All jobs that were ever committed."""
    ids: list[int] = field(default_factory=list[int])
    """Of unfinished jobs, ascending."""
    lines: dict[Stream, list[tuple[int, int]]] = field(
        default_factory=dict[Stream, list[tuple[int, int]]]
    )
    """The lane index: places and ids of jobs that are not scheduled."""
    work: dict[int, Row] = field(default_factory=dict[int, Row])
    """What is in `work_queue`."""
    receipts: dict[int, Receipt] = field(default_factory=dict[int, Receipt])
    workers: dict[int, WorkerRow] = field(default_factory=dict[int, WorkerRow])
    leaders: Leaders = field(default_factory=Leaders)
    floors: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    used: dict[tuple[str, str, str | None, int], int] = field(
        default_factory=dict[tuple[str, str, str | None, int], int]
    )
    paused: Paused = frozenset()
    policies: list[str] = field(default_factory=list[str])
    under_way: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Statements of leaders that are gone, which the server has still to end."""
    inserts_notify: bool = False
    endings_notify: bool = False
    notify: Callable[[str, str], None] = unheard
    """Called with a channel and a payload."""
    open_transactions: set[int] = field(default_factory=set[int])
    served: list[tuple[Job, int]] = field(default_factory=list[tuple[Job, int]])
    """How long attempts ran that are over, since somebody looked."""
    next_xid: int = 100
    next_id: int = 1
    next_place: int = 1
    next_receipt: int = 1
    next_token: int = 1

    @property
    def now_us(self) -> int:
        """The database's time."""
        return BASE_US + self.clock.now_us + self.offset_us

    @property
    def xmin(self) -> int:
        """The lower bound of a snapshot: transactions below it are over."""
        return min(self.open_transactions, default=self.next_xid)

    def begin(self) -> int:
        """Begin a transaction that writes, and return its number."""
        self.next_xid += 1
        self.open_transactions.add(self.next_xid - 1)
        return self.next_xid - 1

    def end(self, xid: int) -> None:
        """Commit or roll back."""
        self.open_transactions.discard(xid)

    def draw_id(self) -> int:
        """Draw the next id of `jobs`."""
        self.next_id += 1
        return self.next_id - 1

    def draw_place(self) -> int:
        """Draw the next place in a lane."""
        self.next_place += 1
        return self.next_place - 1

    def draw_receipt(self) -> int:
        """Draw the next id of a receipt."""
        self.next_receipt += 1
        return self.next_receipt - 1

    def insert(self, rows: Iterable[Row]) -> None:
        """Commit new jobs."""
        for row in rows:
            row.since_us = self.clock.now_us
            self.jobs[row.id] = self.known[row.id] = row
            insort(self.ids, row.id)
            if row.run_at_us is None:
                self.enter_line(row)

    def enter_line(self, row: Row) -> None:
        """Enter a job into its lane, by its place."""
        row.since_us = self.clock.now_us
        insort(self.lines.setdefault(row.stream, []), (row.seq, row.id))

    def leave_line(self, row: Row) -> None:
        """Take a job out of its lane."""
        line = self.lines[row.stream]
        line.remove((row.seq, row.id))
        if not line:
            del self.lines[row.stream]

    def delete(self, row: Row) -> None:
        """Commit the end of a job."""
        del self.jobs[row.id]
        self.ids.remove(row.id)
        if row.run_at_us is None:
            self.leave_line(row)
        row.ended_us = self.clock.now_us

    def leave_work(self, row: Row) -> int:
        """Take a job out of `work_queue`, and return how long its attempt has run."""
        del self.work[row.id]
        run_us = self.stop(row)
        row.since_us = self.clock.now_us
        return run_us

    def stop(self, row: Row) -> int:
        """End a row's attempt, if any; return how long it ran by the database's clock."""
        if row.claimed_us is None or row.claimed_at_us is None:
            return 0
        run_us = max(0, self.now_us - row.claimed_at_us)
        self.served.append((row, self.clock.now_us - row.claimed_us))
        row.claimed_us = row.claimed_at_us = row.worker = None
        return run_us

    def return_row(self, row: Row) -> None:
        """Let a claimed row wait for a worker again, at the floor or above."""
        self.stop(row)
        row.vtag = max(row.vtag, self.floors.get((row.pool, row.band), 0))

    def add_receipt(self, receipt: Receipt) -> None:
        """Commit a receipt."""
        self.receipts[receipt.id] = receipt
        if receipt.ended and self.endings_notify:
            self.notify("fairlead_scheduler", "ending")

    def holds(self, epoch: object) -> bool:
        """Return whether this epoch leads."""
        return self.leaders.epoch == epoch

    def flush(self) -> None:
        """Let statements end that are under way, as whoever locks the leader's row waits."""
        under_way, self.under_way = self.under_way, []
        for act in under_way:
            act()
