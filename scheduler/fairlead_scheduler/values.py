"""What goes into the scheduler's decisions and what comes out of them: values, nothing else.

Times are microseconds of the database's clock since 1970, durations are microseconds, and
tags are slot-microseconds: how much service a lane has been charged for. What is made once
per job is a tuple, which costs a third of a dataclass; a plain one costs a fifth of that.
"""

from dataclasses import dataclass
from typing import NamedTuple

from fairlead_scheduler.rates import Used

Stream = tuple[str, str, int]
"""Queue, tenant and rank: one ordered run of jobs in the lane index."""

Paused = frozenset[tuple[str, str | None]]
"""Paused queues, as (queue, None), and paused tenants of queues, as (queue, tenant)."""
NOBODY: Paused = frozenset()


class Head(NamedTuple):
    """A pending job at the head of its stream."""

    id: int
    seq: int
    hint_us: int | None
    """The producer's `cost_hint`."""
    seen_us: int | None
    """When the leader first saw the job; None means that nobody knows. Passed through."""


AnyHead = tuple[int, int, int | None, int | None]
"""A `Head`, or a plain tuple of the same: that costs a fifth, where thousands are read."""


class Found(NamedTuple):
    """A pending job with its stream, as the tail, a probe, a sweep or a promotion finds it."""

    id: int
    seq: int
    queue: str
    tenant: str
    rank: int
    hint_us: int | None
    seen_us: int | None


class Want(NamedTuple):
    """Ask the database for up to `limit` jobs of `stream` with `seq > after_seq`, by `seq`."""

    stream: Stream
    after_seq: int
    limit: int


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
    """Offered ids that are in flight by the books, and so were left out. Ask the database
    again: one whose ending has not been read yet would otherwise be lost until the next
    sweep."""
    overflow: int
    """How many of `rows` go past the depth, because they overtake queued rows."""
    used: tuple[Used, ...] = ()
    """What is used of rates then, to be stored in the same transaction."""
    bands: tuple[BandPlan, ...] = ()
    """The jobs by their bands, each with its floor, where there are several; else all are in
    the first, and so is the floor."""
    pool: str = ""
    """For whose workers it is."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortSettings:
    """How many slots are kept for short jobs, and which are short."""

    per_10_000: int
    lowest: int
    shorter_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FairSettings:
    """The knobs of the fair order."""

    inflight_share_cap: float = 2.0
    """Beta: with so many times its fair share in flight a lane waits while others have less."""
    prior_us: int = 100_000
    """The first estimate in a queue where nothing has ended yet."""
    prior_samples: int = 4
    """n0: how many samples the prior counts for."""
    window: int = 200
    """How many samples a mean remembers."""
    refresh_us: int = 25_000
    """How often running jobs are charged for what they have run beyond their charge; less often
    with thousands of them."""
    turn_us: int = 1000
    """How long the whole fleet may be busy with one turn of a lane. Shorter jobs share a
    turn: ten thousand lanes of one-millisecond jobs would otherwise cost more to order than
    to run."""
    idle_lanes_max: int = 20_000
    """Lanes without work that are remembered, for their means, before some are forgotten."""
    short: ShortSettings | None = None
    """None: no slot is kept for short jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsSettings:
    """How many heads to prefetch."""

    first: int = 64
    """Heads asked for a stream that is new; fewer when there are thousands."""
    lowest: int = 12
    """Heads kept for a stream that hardly moves."""
    per_stream_max: int = 2048
    """Heads kept for a stream that drains as fast as it is filled."""
    budget: int = 200_000
    """Heads kept in all; about 200 bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthSettings:
    """How many unclaimed rows `work_queue` may hold."""

    lowest: int = 8
    ceiling: int = 2000
    memory_us: int = 500_000
    """How far back the rate of claims looks, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailSettings:
    """How holes in the sequence of ids are probed."""

    ranges_max: int = 1000
    doubtful_max: int = 10_000
    marks_max: int = 1024
    interval_first_us: int = 10_000
    interval_max_us: int = 100_000
    doubt_interval_max_us: int = 1_000_000
