"""What the leader knows, and how each look changes it: books, heads, tail and workers.

Nothing here reads a clock or a database: a view comes in, a plan goes out.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import cast

from fairlead.policy.variables import Workers
from fairlead_scheduler.capacity import Capacity
from fairlead_scheduler.estimate import Moments
from fairlead_scheduler.explain import Answer, Question, answer
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.looks import Look
from fairlead_scheduler.marks import ReceiptMark
from fairlead_scheduler.pool import PoolOrder
from fairlead_scheduler.pools import Pools
from fairlead_scheduler.rates import Used
from fairlead_scheduler.scans import Scans
from fairlead_scheduler.sights import Sight
from fairlead_scheduler.tail import Probe, Tail
from fairlead_scheduler.terms import Table
from fairlead_scheduler.throughput import Ended
from fairlead_scheduler.values import AnyHead, Found, Paused, Plan, Want
from fairlead_scheduler.views import (
    Ask,
    Audited,
    Fill,
    Lanes,
    News,
    Observed,
    Promoted,
    Queued,
    Recalled,
    Receipt,
    Ruled,
    Surveyed,
    View,
)

_STREAMS_MAX = 1000
_FLOOD = 5000
"""Rows ahead of the tail from which on they are passed over: it would take too long to read
them all before those of other tenants behind them."""
_RECEIPTS_IDLE_US = 1_000_000
_TAIL_OVERLAP = 2000
"""How many ids below the newest a new leader's tail begins: some of them may be uncommitted."""


class Knowledge:
    """What one leader knows, from its take-over on.

    Args:
        pool: The pool that serves all queues where the policy names none.
        table: The terms in force.
        queued: A full read of `work_queue`, made after the take-over.
        used: What rates have used, read after the take-over as well.
        newest_id: The largest id of `jobs`, read before the lanes were.
        queued_max: Ceiling of the unclaimed rows.
        round_us: How long a tick and a round trip take.
        tail_max: How many rows one look at the tail reads at most.
    """

    def __init__(
        self,
        *,
        pool: str,
        queued: Queued,
        table: Table | None = None,
        used: Iterable[Used] = (),
        newest_id: int,
        queued_max: int,
        round_us: int,
        tail_max: int,
    ) -> None:
        begin = max(0, newest_id - _TAIL_OVERLAP)
        self.order = Pools(pool, table)
        self.order.adopt(queued.rows(), queued.now_us, queued.by_band(), used)
        self.heads = Heads(last_id=begin, in_flight=self.order.in_flight)
        self.tail = Tail(begin, queued.now_us)
        self._sights: dict[str, Sight] = {}
        """What is seen of the pools, by their names."""
        self._queued_max = queued_max
        self.capacity = Capacity()
        self.paused: Paused = frozenset()
        self._begin_id = begin
        self._newest_id = newest_id
        self._round_us = round_us
        self._tail_max = tail_max
        self._receipts = ReceiptMark()
        self._receipts_us = 0
        self._wants: tuple[Want, ...] = ()
        self._scans = Scans(self.heads)
        self._probe: Probe | None = None
        self._now_us = queued.now_us
        self.lagging = False
        """Whether the last look at the tail came to its limit."""
        self.flooded = False
        """Whether a flood was passed over and the lanes are to be scanned; the loop clears
        it."""
        self.runnable: Sequence[str] = ()
        """The queues of the jobs that the last look showed to be new and runnable."""
        self.capacity.audited(_holders(queued), self.order.in_flight)

    @property
    def pending(self) -> bool:
        """Whether there is something that could be dispatched."""
        return self.heads.total > 0 or bool(self._wants)

    @property
    def behind(self) -> bool:
        """Whether there is more to take in or to plan than one look had time for."""
        return self._scans.behind or self.heads.behind or self.order.behind

    def workers(self, pool: str | None) -> Workers:
        """Return the slots of a pool's live workers, as rules may ask for them; None: none."""
        if pool is None:
            return Workers(0, 0)
        return Workers(self.capacity.slots(pool), self.capacity.free(pool))

    @property
    def free(self) -> int:
        """How many slots of live workers hold nothing."""
        return sum(map(self.capacity.free, self._see()))

    @property
    def awaits_endings(self) -> bool:
        """Whether somebody is held back until something ends, and slots may be idle for it."""
        sights = self._see().values()
        return self.order.limited and any(each.may_idle(self.capacity) for each in sights)

    def claims(self, pool: str) -> int:
        """Return how many rows a pool's workers claimed between the last two looks."""
        return self._sights[pool].claims

    def unclaimed(self) -> dict[str, int]:
        """Return how many rows of each pool wait for a worker."""
        return {pool: sight.order.unclaimed for pool, sight in self._see().items()}

    def ask(self, now_us: int, *, workers: bool) -> Ask:
        """Return what to read next."""
        self._wants = self.heads.wants(_STREAMS_MAX)
        probe = self.tail.due(now_us)
        self._probe = probe if probe.lows or probe.ids else None
        return Ask(
            last_id=self.tail.last_id,
            after_receipt=self._ask_receipts(now_us),
            lagging=self.lagging,
            wants=self._wants,
            probe=self._probe,
            workers=workers,
            traits=self.order.traits(),
        )

    def _ask_receipts(self, now_us: int) -> int | None:
        """Return the receipt to read above; None while nothing is out that could leave one."""
        if not self.order.in_flight and now_us - self._receipts_us < _RECEIPTS_IDLE_US:
            return None
        self._receipts_us = now_us
        return self._receipts.after(now_us)

    def learn(self, view: View, news: Iterable[News]) -> None:
        """Take in one look, and after it what the sweeps have told meanwhile."""
        observed = view.observed
        now_us = observed.now_us
        if view.workers is not None:
            self.capacity.live(view.workers)
        self._take_pauses(observed)
        self._take_receipts(view.receipts, now_us)
        self._take_tail(observed)
        if observed.newest_id is not None and observed.newest_id - self.tail.last_id > _FLOOD:
            self.tail.skip(observed.newest_id, now_us)
            self.flooded = True
        self._take_found(view, now_us)
        self._take_fills(view.fills, now_us)
        self.order.learn(view.texts)
        for item in news:
            self._take_news(item, now_us)
        self._scans.take()

    def survey(self, lanes: Lanes) -> None:
        """Take a scan of all lanes at once: the first one, which is made at the take-over."""
        self._scans.add(lanes)
        while self._scans.behind:
            self._scans.take()

    def plan(self, now_us: int) -> tuple[Plan, ...]:
        """Decide what to dispatch now, pool by pool, and count it as dispatched."""
        self._now_us = now_us
        sights = self._see()
        alone = len(sights) == 1
        sizes = {
            pool: sight.size(
                self.capacity,
                now_us,
                pending=self.pending if alone else sight.order.waits,
                round_us=self._round_us,
            )
            for pool, sight in sights.items()
        }
        plans = self.order.plan(now_us, sizes, self.heads, self.paused)
        for plan in plans:
            if plan.doubtful:
                self.tail.doubt(plan.doubtful, now_us)
        return plans

    def _see(self) -> dict[str, Sight]:
        """Return what is seen of each pool that there is now."""
        sights = self._sights
        for order in self.order.served[len(sights) :]:
            sights[order.pool or ""] = Sight(order, ceiling=self._queued_max)
        return sights

    def dispatched(self, plan: Plan, taken: set[int], now_us: int) -> None:
        """Take the ids that the database took of a plan; the rest is asked about again."""
        if len(taken) < len(plan.rows):
            refused = [job[0] for job in plan.rows if job[0] not in taken]
            self.order.refused(refused, plan.pool)
            self.tail.doubt(refused, now_us)
        sight = self._sights.get(plan.pool)
        if sight is not None:
            sight.dispatched(plan.rows, now_us)

    @property
    def recalling(self) -> bool:
        """Whether there may be rows to recall."""
        return bool(self.paused) or self.order.over or self.order.bands > 1

    def to_recall(self) -> tuple[int, ...]:
        """Return the unclaimed rows that are to be heads again.

        Those of lanes that are paused, those above a new limit, and those that have waited too
        long in their bands.
        """
        order = self.order
        paused = order.unclaimed_of(self.paused) if self.paused else ()
        return tuple(sorted({*paused, *order.surplus(), *order.overdue(self._now_us)}))

    def explain(self, question: Question, now_us: int) -> Answer | None:
        """Say why a pending job does not run; None when its lane is not known yet."""
        capacity, pool = self.capacity, self.order.of(question.queue) or ""
        scene = self.order.scene(
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
        sight = self._sights.get(pool)
        if sight is not None:
            band = self.order.table.band_of(question.queue, question.rank)
            scene = sight.seen(scene, band, now_us)
        return answer(question, scene)

    def look(self, order: PoolOrder, now_us: int) -> Look:
        """Look at the books of a pool for its fairness report."""
        pool, capacity = order.pool or "", self.capacity
        return order.look(now_us, slots=capacity.slots(pool), free=capacity.free(pool))

    def moments(self, pool: str) -> Moments | None:
        """Return what is known of the run times of a pool, which are measured from now on.

        None: there is no such pool.
        """
        sight = self._see().get(pool)
        if sight is not None and sight.moments is None:
            sight.moments = Moments()
        return None if sight is None else sight.moments

    def _take_pauses(self, observed: Observed) -> None:
        queues, tenants = observed.paused_queues or [], observed.paused_tenants or []
        if queues or self.paused:
            self.paused = frozenset(zip(queues, tenants, strict=True))

    def _take_receipts(self, receipts: Sequence[Receipt], now_us: int) -> None:
        order, capacity, sights = self.order, self.capacity, self._see()
        ended: list[list[Ended]] = [[] for _ in sights]
        for sight in sights.values():
            sight.claims = 0
        for receipt in receipts:
            if receipt.claimed and receipt.worker is not None:
                order.claimed(receipt.claimed, receipt.at_us)
                capacity.claimed(receipt.worker, receipt.claimed)
                self._claimed_by(receipt.worker).claims += len(receipt.claimed)
            if receipt.ended:
                run_us = receipt.run_us or [0] * len(receipt.ended)
                parts = order.parted(receipt.ended, run_us)
                for endings, part in zip(ended, parts, strict=True):
                    endings.append(Ended(*part))
                order.ended(receipt.ended, run_us)
                capacity.ended(receipt.ended)
            if receipt.returned:
                order.returned(receipt.returned, receipt.at_us)
                capacity.ended(receipt.returned)
        self._receipts.taken([receipt.id for receipt in receipts], now_us)
        for sight, mine in zip(sights.values(), ended, strict=True):
            sight.looked(mine, capacity, now_us)

    def _claimed_by(self, worker: int) -> Sight:
        """Return the pool of a worker; the first, while it is not known."""
        found = self._sights.get(self.capacity.pool_of(worker) or "")
        return found or next(iter(self._sights.values()))

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

    def _take_found(self, view: View, now_us: int) -> None:
        probe = self._probe
        if probe is None:
            return
        pending = [
            Found(*row[:6], self.tail.seen_us(row.id, now_us))
            for row in view.found
            if row.run_at_us is None
        ]
        ids = [row.id for row in view.found]
        if view.probed_all:
            self.tail.probed(probe, ids, view.observed.xmin, now_us)
        else:
            self.tail.probed(Probe(probe.lows, probe.highs, ()), ids, 0, now_us)
        self.heads.missed(pending)

    def _take_fills(self, fills: Sequence[Fill], now_us: int) -> None:
        for fill in fills:
            want = self._wants[fill.place - 1]
            heads: list[AnyHead] = []
            if fill.ids is not None:
                hints, seen = fill.hints_us or repeat(None), self._seen(fill.ids, now_us)
                heads = list(zip(fill.ids, fill.seqs, hints, seen, strict=False))
            self.heads.filled(want.stream, heads, want.limit)

    def _take_news(self, item: News, now_us: int) -> None:
        match item:
            case Promoted(rows):
                self.heads.missed(rows)
            case Recalled(ids):
                self.capacity.ended(ids)
                self.tail.doubt(self.order.recalled(ids, self.heads), now_us)
            case Ruled(table):
                self.order.apply(table, now_us)
            case Surveyed(lanes):
                self._scans.add(lanes)
            case Audited(queued):
                self.order.reconcile(queued.rows(), queued.now_us, self.heads)
                self.capacity.audited(_holders(queued), self.order.in_flight)

    def _seen(self, ids: Sequence[int], now_us: int) -> Iterable[int | None]:
        if max(ids) <= self._begin_id:
            return repeat(None)
        seen_us = self.tail.seen_us
        return [seen_us(job_id, now_us) for job_id in ids]


def _all_found(observed: Observed, ids: Sequence[int]) -> list[Found]:
    """Return the new rows, all of which are pending and new to this leader."""
    ranks = cast("list[int]", observed.ranks)
    hints, seen = observed.hints_us or repeat(None), repeat(observed.now_us)
    columns = (ids, observed.seqs, observed.queues, observed.tenants, ranks)
    return list(map(Found, *columns, hints, seen))


def _pending(
    observed: Observed, ids: Sequence[int], seen_us: Iterable[int | None]
) -> list[Found]:
    """Return those of the new rows that are pending."""
    hints = observed.hints_us or repeat(None)
    columns = (ids, observed.seqs, observed.queues, observed.tenants, observed.ranks)
    return [
        Found(job_id, seq, queue, tenant, rank, hint, seen)
        for job_id, seq, queue, tenant, rank, hint, seen in zip(
            *columns, hints, seen_us, strict=False
        )
        if rank is not None
    ]


def _holders(queued: Queued) -> dict[int, int]:
    pairs = zip(queued.job_ids or (), queued.workers or (), strict=True)
    return {job_id: worker for job_id, worker in pairs if worker is not None}
