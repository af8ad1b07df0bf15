"""The leader's in-memory state, and how each tick changes it: ledger, heads, tail and workers.

It reads no clock and no database: a view comes in, a plan goes out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import repeat
from typing import cast

from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.capacity.pool_state import PoolState
from fairlead_scheduler.capacity.utilization import EndedRuns
from fairlead_scheduler.capacity.workers import Capacity
from fairlead_scheduler.explain.answer import Answer, Question, QueuedAnswer, answer
from fairlead_scheduler.explain.snapshot import lane_snapshot
from fairlead_scheduler.limits.blocked_reasons import FULL, PAUSED, REASONS
from fairlead_scheduler.loop.lane_scans import LaneScans
from fairlead_scheduler.loop.moved_jobs import MovedJobs
from fairlead_scheduler.ordering.plan import Plan
from fairlead_scheduler.ordering.pool_orders import PoolOrders
from fairlead_scheduler.ordering.router import Router
from fairlead_scheduler.ordering.run_time import RunTimeMoments
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.tail import Probe, Tail
from fairlead_scheduler.pending.values import (
    AnyHead,
    HeadRequest,
    HeadsSettings,
    Paused,
    PendingJob,
)
from fairlead_scheduler.pending.watermarks import ReceiptWatermark
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.gcra import WindowUsage
from fairlead_scheduler.report.snapshot import LedgerSnapshot, take_snapshot
from fairlead_scheduler.rows import (
    Audited,
    Event,
    EvictionsRequested,
    HeadFill,
    LaneRows,
    LanesScanned,
    Observed,
    PolicyChanged,
    Promoted,
    QueuedRows,
    ReadRequest,
    Recalled,
    Receipt,
    TickView,
)

_NO_LANES: Paused = frozenset()
_STREAMS_MAX = 1000
_FLOOD = 5000
"""More rows ahead of the tail are skipped: to read them all first would delay others'."""
_RECEIPTS_IDLE_US = 1_000_000
_DOUBTED_BEHIND = 16
"""So many heads behind each that is found locked are asked about before they are planned:
one transaction has often locked a whole run of a lane."""
_TAIL_OVERLAP = 2000
"""How many ids below the newest a new leader's tail begins: some may still be uncommitted."""


class LeaderState:
    """The state of one leader, from its take-over on.

    Args:
        pool: The pool that serves all queues where the policy names none.
        table: The policy in force.
        queued: A full read of `work_queue`, made after the take-over.
        used: How much of each rate is used, read after the take-over as well.
        newest_id: The largest id of `jobs`, read before the lanes were.
        queued_max: Ceiling of the unclaimed rows.
        round_us: How long a tick and a round trip take.
        tail_max: The largest number of rows that one read of the tail returns.
        heads: How many heads and streams to keep.
    """

    due_us: int | None = None
    """The earliest instant of scheduled jobs that were found late; the loop takes it."""

    def __init__(  # noqa: PLR0913 - what a term knows at its start, all by name
        self,
        *,
        pool: str,
        queued: QueuedRows,
        table: CompiledPolicy | None = None,
        used: Iterable[WindowUsage] = (),
        newest_id: int,
        queued_max: int,
        round_us: int,
        tail_max: int,
        heads: HeadsSettings | None = None,
    ) -> None:
        begin = max(0, newest_id - _TAIL_OVERLAP)
        self.order = Router(pool, table)
        self.order.adopt(queued.rows(), queued.now_us, queued.by_band(), used)
        self.tail = Tail(begin, queued.now_us)
        self.heads = Heads(
            heads,
            last_id=begin,
            in_flight=self.order.in_flight,
            doubtful=self.tail.doubtful,
        )
        self._pool_states: dict[str, PoolState] = {}
        """The states of the pools, by name."""
        self._queued_max = queued_max
        self.capacity = Capacity()
        self.paused = self.full = _NO_LANES
        """`full` are lanes that get no more rows until workers have room for their kinds."""
        self._begin_id = begin
        self._newest_id = newest_id
        self._round_us, self._tail_max = round_us, tail_max
        self._receipts = ReceiptWatermark()
        self._receipts_us = 0
        self._wants: tuple[HeadRequest, ...] = ()
        self._scans = LaneScans(self.heads, self.tail)
        self._moved = MovedJobs(self.order, self.heads, self.tail)
        self._probe: Probe | None = None
        self._now_us = queued.now_us
        self._drawn_id: int | None = None
        self.lagging = self.reads_slowly = False
        """Whether the last read of the tail reached its limit, and whether it took long."""
        self.flooded = False
        """Whether a flood was skipped: the lanes have to be scanned; the loop clears it."""
        self.runnable: Sequence[str] = ()
        """The queues of the new runnable jobs of the last tick, one entry per job."""
        self.uncounted: list[tuple[int, int]] = []
        """Jobs of which an attempt has ended that its worker does not count, with the workers;
        the loop takes them."""
        self.capacity.reconcile(queued.holders(), self.order.in_flight)

    @property
    def has_pending(self) -> bool:
        """Whether there are jobs that could be dispatched."""
        return self.heads.total > 0 or bool(self._wants)

    @property
    def is_behind(self) -> bool:
        """Whether there is more to take in or to plan than one tick had time for."""
        order = self.order
        known = order.kinds.is_counted and not order.kinds.is_asked
        return self._scans.is_behind or self.heads.is_behind or order.is_behind or not known

    def worker_slots(self, pool: str | None) -> Workers:
        """Return the slots of a pool's live workers, as rules may ask for them; None: none."""
        if pool is None:
            return Workers(0, 0)
        return Workers(self.capacity.slots(pool), self.capacity.free(pool))

    @property
    def free_slots(self) -> int:
        """How many slots of live workers are free."""
        return sum(map(self.capacity.free, self._pools()))

    @property
    def awaits_endings(self) -> bool:
        """Whether a lane is blocked until something ends, and slots may be idle for it."""
        pool_states = self._pools().values()
        return self.order.is_limited and any(
            each.may_idle(self.capacity) for each in pool_states
        )

    def claims(self, pool: str) -> int:
        """Return how many rows a pool's workers claimed between the last two ticks."""
        return self._pool_states[pool].claims

    def passed_over(self, pool: str) -> Collection[int]:
        """Return the rows of a pool that wait for room for their kinds."""
        return self._pools()[pool].passed_over.ids

    def unclaimed(self) -> dict[str, int]:
        """Return how many rows of each pool wait for a worker."""
        return {pool: pool_state.pool.unclaimed for pool, pool_state in self._pools().items()}

    def next_read(self, now_us: int, *, workers: bool) -> ReadRequest:
        """Return what to read next."""
        self._wants = self.heads.next_requests(_STREAMS_MAX)
        probe = self.tail.next_probe(now_us)
        self._probe = probe if probe.lows or probe.ids else None
        return ReadRequest(
            last_id=self.tail.last_id,
            after_receipt=self._receipts_after(now_us),
            lagging=self.lagging,
            drawn=self.reads_slowly and not self.lagging,  # it may walk over what nobody sees
            wants=self._wants,
            probe=self._probe,
            workers=workers,
            pools=[pool.name or "" for pool in self.order.served],
            attributes=self.order.attribute_requests(),
            kind_limits=self.order.kinds.limits,
            counts_kinds=not self.order.kinds.is_counted,
        )

    def _receipts_after(self, now_us: int) -> int | None:
        """Return the receipt id to read above; None while no job is known to leave one."""
        known = self.order.in_flight or self.has_pending
        if not known and now_us - self._receipts_us < _RECEIPTS_IDLE_US:
            return None
        self._receipts_us = now_us
        return self._receipts.next_after(now_us)

    def learn(self, view: TickView, events: Iterable[Event]) -> None:
        """Take in one tick's view, then the events of the background threads."""
        observed = view.observed
        now_us = observed.now_us
        self.tail.observe(observed.xmax)
        if view.workers is not None:
            self.capacity.set_workers(view.workers)
        self._take_pauses(observed)
        self._take_receipts(view.receipts, now_us)
        if view.limited is not None:
            self.order.count_kinds(view.limited)
        if view.kind_limits is not None:
            self.order.limit_kinds(view.kind_limits)
        self._take_tail(observed)
        self._skip_flood(observed)
        self._take_found(view, now_us)
        self._take_fills(view.fills, now_us)
        self.order.learn(view.texts)
        for item in events:
            self._take_news(item, now_us)
        self._scans.take()

    def _skip_flood(self, observed: Observed) -> None:
        """Leave a flood to the scans, also one that nobody sees yet, over which reads walk."""
        # The transaction of an id drawn before this read is one that the read knows of.
        newest = max(observed.newest_id or 0, self._drawn_id or 0)
        if newest - self.tail.last_id > _FLOOD:
            self.tail.skip(newest, observed.xmax, observed.now_us)
            self.flooded = True
        self._drawn_id = observed.drawn_id

    def take_scan(self, lanes: LaneRows) -> None:
        """Take in a whole scan of all lanes at once: the one made at the take-over.

        Transactions that were open then may commit jobs with ids below the tail's begin.
        """
        self._scans.add(lanes)
        self.tail.leave_to_scans(lanes.xmax)
        while self._scans.is_behind:
            self._scans.take()

    def plan(self, now_us: int) -> tuple[Plan, ...]:
        """Decide what to dispatch now, pool by pool, and count it as dispatched."""
        self._now_us = now_us
        pool_states = self._pools()
        alone = len(pool_states) == 1
        sizes = {
            pool: pool_state.next_size(
                self.capacity,
                now_us,
                pending=self.has_pending if alone else pool_state.pool.has_waiting,
                round_us=self._round_us,
            )
            for pool, pool_state in pool_states.items()
        }
        self.full = _NO_LANES.union(
            *(x.full_lanes(self.capacity) for x in pool_states.values())
        )
        plans = self.order.plan(now_us, sizes, self.heads, self.paused | self.full)
        for plan in plans:
            if plan.doubtful:
                self.tail.doubt(plan.doubtful, now_us)
        return plans

    def _pools(self) -> dict[str, PoolState]:
        """Return the state of each pool, with those of new pools added."""
        pool_states = self._pool_states
        for pool in self.order.served[len(pool_states) :]:
            pool_states[pool.name or ""] = PoolState(pool, ceiling=self._queued_max)
        return pool_states

    def dispatched(self, plan: Plan, taken: set[int], now_us: int) -> None:
        """Record which ids of a plan the database took; the rest is probed again."""
        if len(taken) < len(plan.rows):
            refused = [job[0] for job in plan.rows if job[0] not in taken]
            self.order.refused(refused, plan.pool)
            self.tail.doubt(refused, now_us)
        pool_state = self._pool_states.get(plan.pool)
        if pool_state is not None:
            pool_state.record_plan(plan.rows, now_us)

    @property
    def may_recall(self) -> bool:
        """Whether there may be rows to recall."""
        exceeds = self.order.may_exceed_limits or self._moved.may_recall
        return bool(self.paused) or exceeds or self.order.bands > 1

    def rows_to_recall(self) -> tuple[int, ...]:
        """Return the unclaimed rows to recall.

        These are rows of paused lanes, rows above a new limit, rows that have waited too long
        in their bands, and rows of jobs that were given a lower priority.
        """
        order = self.order
        paused = order.unclaimed_of(self.paused) if self.paused else ()
        overdue, moved = order.overdue_rows(self._now_us), self._moved.to_recall()
        return tuple(sorted({*paused, *order.surplus_rows(), *overdue, *moved}))

    def explain(self, question: Question, now_us: int) -> Answer | QueuedAnswer | None:
        """Explain why a job does not run; None while its lane is not known."""
        for each in self._pool_states.values():
            queued = each.explain_queued(question.job_id, self.capacity)
            if queued is not None:
                return queued
        capacity, pool = self.capacity, self.order.pool_name_of(question.queue) or ""
        scene = lane_snapshot(
            self.order,
            question.queue,
            question.tenant,
            job_id=question.job_id,
            rank=question.rank,
            now_us=now_us,
            slots=capacity.slots(pool),
            free=capacity.free(pool),
        )
        if scene is None:
            return None
        pool_state = self._pool_states.get(pool)
        if pool_state is not None:
            band = self.order.table.band_of(question.queue, question.rank)
            full = (question.queue, question.tenant) in self.full
            scene = pool_state.complete_snapshot(scene, band, now_us, full=full)
        return answer(question, scene)

    def pool_snapshot(self, pool: PoolOrders, now_us: int) -> LedgerSnapshot:
        """Read the ledgers of a pool for its fairness report."""
        name, capacity = pool.name or "", self.capacity
        slots, free = capacity.slots(name), capacity.free(name)
        full = self.full - self.paused
        return take_snapshot(pool.ledgers, now_us, slots=slots, free=free, full=full)

    def blocked_lanes(self) -> dict[str, int]:
        """Return how many lanes that have work are blocked, by reason.

        The order sees a full lane as paused; one that is paused as well counts as that.
        """
        counts, full = self.order.blocked_lanes(), self.full - self.paused
        paused = counts[REASONS[PAUSED]]
        found = sum(each.count_full(full) for each in self._pool_states.values()) if full else 0
        counts[FULL] = min(found, paused)
        counts[REASONS[PAUSED]] = paused - counts[FULL]
        return counts

    @property
    def unwatched_lanes(self) -> int:
        """How many streams may hold jobs that only a scan of all lanes finds."""
        return self.heads.streams if self.tail.has_unwatched else 0

    def run_time_moments(self, pool: str) -> RunTimeMoments | None:
        """Return the moments of a pool's run times, which are measured from the first call on.

        None: there is no such pool.
        """
        pool_state = self._pools().get(pool)
        if pool_state is not None and pool_state.moments is None:
            pool_state.moments = RunTimeMoments()
        return None if pool_state is None else pool_state.moments

    def _take_pauses(self, observed: Observed) -> None:
        queues, tenants = observed.paused_queues or [], observed.paused_tenants or []
        if queues or self.paused:
            self.paused = frozenset(zip(queues, tenants, strict=True))

    def _take_receipts(self, receipts: Sequence[Receipt], now_us: int) -> None:
        order, capacity, pool_states = self.order, self.capacity, self._pools()
        ended: list[list[EndedRuns]] = [[] for _ in pool_states]
        for pool_state in pool_states.values():
            pool_state.claims = 0
        for receipt in receipts:
            if receipt.claimed and receipt.worker is not None:
                order.claimed(receipt.claimed, receipt.at_us)
                capacity.claimed(receipt.worker, receipt.claimed)
                self._claimed_by(receipt.worker).claims += len(receipt.claimed)
            if receipt.ended:
                run_us = receipt.run_us or [0] * len(receipt.ended)
                parts = tuple(order.split_by_pool(receipt.ended, run_us))
                for endings, part, own in zip(ended, parts, pool_states.values(), strict=True):
                    runs = EndedRuns(*part)
                    endings.append(runs)
                    order.ended(runs.ids, own.charges_us(runs.run_us, capacity))
                self.uncounted += capacity.uncounted(receipt.ended)
                capacity.ended(receipt.ended)
            if receipt.evicted:
                self.tail.doubt(receipt.evicted, now_us)
            if receipt.passed_over and receipt.worker is not None:
                pool_state = self._claimed_by(receipt.worker)
                pool_state.passed_over.add(receipt.passed_over, pool_state.pool.ledgers)
            if receipt.returned:
                order.returned(receipt.returned, receipt.at_us)
                self.uncounted += capacity.uncounted(receipt.returned)
                capacity.ended(receipt.returned)
        self._moved.take(receipts, now_us)
        self._receipts.record_taken([receipt.id for receipt in receipts], now_us)
        for pool_state, mine in zip(pool_states.values(), ended, strict=True):
            pool_state.take_endings(mine, capacity, now_us)

    def _claimed_by(self, worker: int) -> PoolState:
        """Return the pool of a worker; the first, while it is not known."""
        found = self._pool_states.get(self.capacity.pool_of(worker) or "")
        return found or next(iter(self._pool_states.values()))

    def _take_tail(self, observed: Observed) -> None:
        ids, now_us = observed.ids, observed.now_us
        self.runnable = ()
        self.lagging = ids is not None and len(ids) >= self._tail_max
        if ids is None:
            return
        self.tail.read(ids, observed.xmax, now_us)
        if observed.first_due_us is None and ids[0] > self._newest_id:
            self.heads.discovered(_all_found(observed, ids))
            self.runnable = observed.queues
        else:
            pending = _pending(observed, ids, self._seen(ids, now_us))
            self.heads.discovered(pending)
            self.runnable = [row.queue for row in pending if row.id > self._newest_id]

    def _take_found(self, view: TickView, now_us: int) -> None:
        probe = self._probe
        if probe is None:
            return
        self.order.watch_kinds([row[2:4] for row in view.found if row.kind is not None])
        free = [row for row in view.found if not row.locked]
        pending = [
            PendingJob(*row[:6], self.tail.seen_us(row.id, now_us))
            for row in free
            if row.run_at_us is None
        ]
        due = [row.run_at_us for row in free if row.run_at_us is not None]
        self.due_us = min(due, default=None)
        streams = {row.id: row[2:5] for row in view.found if row.locked}
        xmin = view.observed.xmin if view.probed_all else 0
        ids = [row.id for row in free]
        locked = self.tail.probed(probe, ids, xmin, now_us, locked=streams)
        self.heads.missed(pending)
        for stream, jobs in Counter(streams[job_id] for job_id in locked).items():
            count = min(_DOUBTED_BEHIND * jobs, self.tail.room)
            self.tail.doubt(self.heads.withhold(stream, count), now_us)

    def _take_fills(self, fills: Sequence[HeadFill], now_us: int) -> None:
        for fill in fills:
            want = self._wants[fill.place - 1]
            heads: list[AnyHead] = []
            if fill.ids is not None:
                hints, seen = fill.hints_us or repeat(None), self._seen(fill.ids, now_us)
                heads = list(zip(fill.ids, fill.seqs, hints, seen, strict=False))
            self.heads.filled(want.stream, heads, want.limit)

    def _take_news(self, item: Event, now_us: int) -> None:
        match item:
            case Promoted(rows):
                self._moved.promoted(rows, now_us)
            case Recalled(ids):
                self.capacity.ended(ids)
                self.tail.doubt(self.order.recalled(ids, self.heads), now_us)
            case PolicyChanged(table):
                self.order.apply(table, now_us)
            case LanesScanned(lanes):
                self._scans.add(lanes)
            case Audited(queued):
                self.order.reconcile(queued.rows(), queued.now_us, self.heads)
                self.capacity.reconcile(queued.holders(), self.order.in_flight)
            case EvictionsRequested():  # it is for the step that requested them
                return

    def _seen(self, ids: Sequence[int], now_us: int) -> Iterable[int | None]:
        if max(ids) <= self._begin_id:
            return repeat(None)
        seen_us = self.tail.seen_us
        return [seen_us(job_id, now_us) for job_id in ids]


def _all_found(observed: Observed, ids: Sequence[int]) -> list[PendingJob]:
    """Return the new rows, all of which are pending and new to this leader."""
    ranks = cast("list[int]", observed.ranks)
    hints, seen = observed.hints_us or repeat(None), repeat(observed.now_us)
    columns = (ids, observed.seqs, observed.queues, observed.tenants, ranks)
    return list(map(PendingJob, *columns, hints, seen))


def _pending(
    observed: Observed, ids: Sequence[int], seen_us: Iterable[int | None]
) -> list[PendingJob]:
    """Return those of the new rows that are pending."""
    hints = observed.hints_us or repeat(None)
    columns = (ids, observed.seqs, observed.queues, observed.tenants, observed.ranks)
    return [
        PendingJob(job_id, seq, queue, tenant, rank, hint, seen)
        for job_id, seq, queue, tenant, rank, hint, seen in zip(
            *columns, hints, seen_us, strict=False
        )
        if rank is not None
    ]
