"""What the leader reads, as values: results of its statements, and events of other threads.

A list is one column of many rows, which costs a tenth of as many rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

from fairlead_scheduler.limits.concurrency_keys import AttributeRequest
from fairlead_scheduler.limits.kind_limits import KindLimit, LimitedJob
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.tail import Probe
from fairlead_scheduler.pending.values import HeadRequest, PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy

_LANES_AT_ONCE = 500
"""Ten thousand would hold up a dispatch for longer than a tick."""


class Observed(NamedTuple):
    """The result of `observe`; a list is None where there are no rows.

    When `first_due_us` is set, scheduled rows are among them, with None for their ranks.
    """

    now_us: int
    xmin: int
    xmax: int
    paused_queues: list[str] | None
    paused_tenants: list[str | None] | None
    newest_id: int | None
    ids: list[int] | None
    seqs: list[int]
    queues: list[str]
    tenants: list[str]
    ranks: list[int | None]
    hints_us: list[int | None] | None
    first_due_us: int | None
    unchecked: list[int] | None = None
    """Those with values that no INSERT is admitted with."""
    drawn_id: int | None = None
    """The last id that was drawn, also by a transaction that is still open."""


Move = tuple[str, str, int, int, list[int]]
"""Queue, tenant, the rank that these jobs had, the one that they have, and their ids."""


class Receipt(NamedTuple):
    """The record that one batch of claims, endings or hand-backs leaves for the leader."""

    id: int
    at_us: int
    worker: int | None
    claimed: list[int] | None
    ended: list[int] | None
    run_us: list[int] | None
    returned: list[int] | None
    queues: list[str] | None
    """The queues of jobs that ended unclaimed; `kinds` and `outcomes` are parallel lists."""
    kinds: list[str] | None
    outcomes: list[str] | None
    passed_over: list[int] | None = None
    """Unclaimed rows for whose kinds the worker has no room."""
    evicted: list[int] | None = None
    """Those of `ended` that made room and are pending again."""
    moved: list[Move] | None = None
    """Jobs that wait and were given another priority."""


class EndedElsewhere(NamedTuple):
    """How an attempt ended of a worker that does not count that itself."""

    queue: str
    kind: str
    ended_as: str
    is_finished: bool
    """Whether its job finished with it."""


class HeadFill(NamedTuple):
    """The heads read for the request at this place, counted from 1."""

    place: int
    ids: list[int] | None
    seqs: list[int]
    hints_us: list[int | None] | None


class ProbedJob(NamedTuple):
    """A job that a probe found; `run_at_us` is set while it is scheduled."""

    id: int
    seq: int
    queue: str
    tenant: str
    rank: int
    hint_us: int | None
    run_at_us: int | None
    locked: bool = False
    """Whether somebody has locked it; known of those that were asked about by their ids."""
    kind: str | None = None
    """Its kind, if it is limited; known of the same."""


class LaneRows(NamedTuple):
    """The first and the last pending job of every stream, by columns; None without any."""

    now_us: int
    ids: list[int] | None
    seqs: list[int]
    queues: list[str]
    tenants: list[str]
    ranks: list[int]
    since_us: list[int]
    last_ids: list[int]
    last_seqs: list[int]
    in_progress: list[int] | None = None
    """Transactions that had begun and not ended when this was read; None without any."""
    xmax: int = 0
    """Transactions from it on had not begun."""

    def parts(self) -> "Iterator[LaneRows]":
        """Yield them in parts, each as large as a tick has time for."""
        for begin in range(0, len(self.ids or ()), _LANES_AT_ONCE):
            part = slice(begin, begin + _LANES_AT_ONCE)
            yield LaneRows(
                self.now_us,
                self.ids[part] if self.ids else None,
                self.seqs[part],
                self.queues[part],
                self.tenants[part],
                self.ranks[part],
                self.since_us[part],
                self.last_ids[part],
                self.last_seqs[part],
                self.in_progress,
                self.xmax,
            )

    def first(self) -> list[PendingJob]:
        """Return the first job of each stream."""
        return self._found(self.ids or (), self.seqs)

    def last(self) -> list[PendingJob]:
        """Return the last job of each stream."""
        return self._found(self.last_ids or (), self.last_seqs)

    def _found(self, ids: Sequence[int], seqs: Sequence[int]) -> list[PendingJob]:
        if not ids:
            return []
        columns = (ids, seqs, self.queues, self.tenants, self.ranks)
        return list(map(PendingJob, *columns, repeat(None), repeat(None)))

    def waits_us(self) -> dict[str, int]:
        """Return for how long the oldest of each queue had been due when this was read."""
        waits: dict[str, int] = {}
        for queue, since_us in zip(self.queues or (), self.since_us or (), strict=True):
            waits[queue] = max(waits.get(queue, 0), self.now_us - since_us)
        return waits


class Worker(NamedTuple):
    """A live worker."""

    id: int
    slots: int
    pool: str = "default"
    beside: int = 0
    """How many jobs it holds that occupy no slot."""
    counts: bool = True
    """Whether it counts how its attempts end, as Fairlead's own do; others speak only SQL."""


class QueuedRows(NamedTuple):
    """All of `work_queue`, by columns; a list is None where there are no rows."""

    now_us: int
    floor_bands: list[int] | None
    floors: list[int]
    job_ids: list[int] | None
    queues: list[str]
    tenants: list[str]
    vtags: list[int]
    estimates_us: list[int]
    claimed_us: list[int | None]
    workers: list[int | None]
    bands: list[int]
    pools: Sequence[str] = ()
    floor_pools: Sequence[str] | None = None

    def by_band(self) -> dict[str, tuple[int, ...]]:
        """Return the floors of each pool by their bands; 0 for a band that has none."""
        known: dict[str, dict[int, int]] = {}
        named = zip(
            self.floor_pools or (), self.floor_bands or (), self.floors or (), strict=False
        )
        for pool, band, floor in named:
            known.setdefault(pool, {})[band] = floor
        return {
            pool: tuple(floors.get(band, 0) for band in range(1 + max(floors)))
            for pool, floors in known.items()
        }

    def holders(self) -> dict[int, int]:
        """Return the workers of those that are claimed, by job."""
        pairs = zip(self.job_ids or (), self.workers or (), strict=True)
        return {job_id: worker for job_id, worker in pairs if worker is not None}

    def rows(self) -> list[QueueRow]:
        """Return them as rows of the ledger."""
        if self.job_ids is None:
            return []
        columns = (self.job_ids, self.queues, self.tenants, self.vtags, self.estimates_us)
        pools = self.pools or repeat("default")
        return list(map(QueueRow, *columns, self.claimed_us, self.bands, pools))


class Renumbered(NamedTuple):
    """A pool's band whose order tags are numbered anew."""

    pool: str
    band: int
    lowered_by: int


class PolicyRow(NamedTuple):
    """A stored version of the policy."""

    version: int
    document: str
    disabled: list[str]
    """The names of its rules that had to be disabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What one tick is to read in addition to the tail and the receipts."""

    last_id: int
    after_receipt: int | None
    lagging: bool = False
    drawn: bool = False
    """Whether to read the last id that was drawn."""
    wants: tuple[HeadRequest, ...] = ()
    probe: Probe | None = None
    workers: bool = False
    pools: Sequence[str] = ()
    """Those whose workers' limits of kinds are read with the workers."""
    attributes: tuple[AttributeRequest, ...] = ()
    kind_limits: Sequence[KindLimit] = ()
    """Those in force."""
    counts_kinds: bool = False
    """Whether to read what is in flight of the limited kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickView:
    """What one tick read."""

    observed: Observed
    receipts: list[Receipt]
    fills: list[HeadFill]
    found: list[ProbedJob]
    probed_all: bool
    """Whether `found` is all that is in the ranges of the probe."""
    workers: list[Worker] | None
    texts: Sequence[str | None] = ()
    """The requested job attributes, as text; the last of them may be missing."""
    kind_limits: list[KindLimit] | None = None
    """Read with the workers, and after them."""
    limited: list[LimitedJob] | None = None
    """What is in flight of the limited kinds."""


class Promoted(NamedTuple):
    """Jobs that fell due and are pending now."""

    rows: tuple[PendingJob, ...]


class Recalled(NamedTuple):
    """Jobs that left `work_queue` unclaimed."""

    ids: tuple[int, ...]


class LanesScanned(NamedTuple):
    """A scan over all streams."""

    lanes: LaneRows


class Audited(NamedTuple):
    """A full read of `work_queue`."""

    queued: QueuedRows


class PolicyChanged(NamedTuple):
    """Another policy is in force."""

    table: CompiledPolicy


class EvictionsRequested(NamedTuple):
    """Running jobs of a pool that were asked to make room."""

    pool: str
    ids: tuple[int, ...]


Event = Promoted | Recalled | LanesScanned | Audited | PolicyChanged | EvictionsRequested
