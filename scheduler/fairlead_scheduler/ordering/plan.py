"""What a plan dispatches, and the rows of `work_queue` that it starts from.

Times are microseconds of the database's clock since 1970, durations are microseconds, and tags
are slot-microseconds: how much service a lane has been charged for. What is made once per job
is a tuple, which costs a third of a dataclass; a plain one costs a fifth of that.
"""

from typing import NamedTuple

from fairlead_scheduler.policy.gcra import WindowUsage

PlannedRow = tuple[int, int, int, int | None]
"""One row to insert into `work_queue`: the job's id, its tag, its estimate, and when the leader
first saw it. A plan has thousands of them, and names would cost five times as much."""


class BandPlan(NamedTuple):
    """What to dispatch in one band."""

    band: int
    rows: tuple[PlannedRow, ...]
    floor: int


class Plan(NamedTuple):
    """What to dispatch, and the floor to write in the same transaction."""

    rows: tuple[PlannedRow, ...]
    """Those to insert, in the order of their ids, which is the lock order."""
    floor: int
    """No unclaimed row is known below it, and no tag in `rows` is. It may be lower than last
    time: write it as it is, without `greatest`."""
    doubtful: tuple[int, ...]
    """Offered ids that are in flight by the ledger, and so were left out. Ask the database
    again: one whose ending has not been read yet would otherwise be lost until the next
    sweep."""
    overflow: int
    """How many of `rows` go past the depth, because they overtake queued rows."""
    used: tuple[WindowUsage, ...] = ()
    """What is then used of rates, to be stored in the same transaction."""
    bands: tuple[BandPlan, ...] = ()
    """The jobs by their bands, each with its floor, where there are several; else all jobs and
    the floor are in the first band."""
    pool: str = ""
    """The pool whose workers it is for."""

    @property
    def parts(self) -> tuple[BandPlan, ...]:
        """What to dispatch by bands."""
        return self.bands or (BandPlan(0, self.rows, self.floor),)


class QueueRow(NamedTuple):
    """A row of `work_queue` as a full read finds it."""

    job_id: int
    queue: str
    tenant: str
    vtag: int
    estimate_us: int
    claimed_us: int | None
    band: int = 0
    pool: str = ""
