"""The fair order: which pending jobs enter `work_queue` next, and with which order tags.

Two-level start-time fair queueing (Goyal, Vin and Cheng, 1996), charged in slot-microseconds
as the virtual token counter does (Sheng and others, 2024), with up to D jobs outstanding as
SFQ(D) (Jin, Chase and Kaur, 2004). A lane is charged an estimate when its job is dispatched,
what a long run takes beyond that while it runs, and the difference at its end. Tags are made
at dispatch, so nothing is rewritten when an estimate or a policy changes.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence

from fairlead_scheduler.limits.blocked_reasons import (
    BOUNDS,
    FREE,
    PASSING,
    PAUSED,
    POOL,
    RESERVE,
)
from fairlead_scheduler.limits.concurrency_keys import AttributeRequest
from fairlead_scheduler.ordering import apply_policy, late_charges, recovery
from fairlead_scheduler.ordering.aging import Aging
from fairlead_scheduler.ordering.blocked import Member, Pauses, is_paused
from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.job_checks import job_attributes
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.ordering.levels.service import OUT
from fairlead_scheduler.ordering.membership import ensure_aged_lane, ensure_lane
from fairlead_scheduler.ordering.picker import Picker
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.pool_context import PoolContext
from fairlead_scheduler.pending.cursors import NEVER_AGES, LaneHeads
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Paused
from fairlead_scheduler.policy.compiled import CompiledPolicy

_REFRESH_US = 10
"""How much longer it takes until the next refresh for each job in flight. Refreshing one costs
a fiftieth of that, so refreshes take a fiftieth of the time at most."""


class FairOrder:
    """The order of one (pool, band): between branches, and in each branch between accounts.

    Every method is an event and carries its time. Unknown ids are ignored, so a repeated event
    changes nothing.
    """

    def __init__(self, table: CompiledPolicy, context: PoolContext, *, band: int = 0) -> None:
        self.band = band
        self._in_flight_jobs: dict[int, InFlightJob] = {}
        self._ledger = Ledger(table, self._in_flight_jobs, context, band=band)
        self._lanes: dict[LaneHeads, Lane] = {}
        self._pauses = Pauses()
        self._touched: set[int] | None = None
        self._queries: tuple[job_attributes.AttributeQuery, ...] = ()
        self._refreshed_us = 0
        self._lag_us = self._ledger.settings.refresh_us
        """How late a running job may be charged."""

    @property
    def unclaimed(self) -> int:
        """How many rows of `work_queue` wait for a worker, by the ledger."""
        return self._ledger.unclaimed

    @property
    def in_flight(self) -> Collection[int]:
        """The ids that are in `work_queue`, by the ledger: a live view."""
        return self._in_flight_jobs.keys()

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, over all queues; the first prior at the start."""
        return self._ledger.mean.value_us(self._ledger.settings.prior_us)

    @property
    def floor(self) -> int:
        """The smallest tag of an unclaimed row in `work_queue`, as far as the ledger knows."""
        return self._ledger.tag_shift.floor(self._ledger.floor, self._in_flight_jobs)

    @property
    def virtual_time(self) -> int:
        """V between the branches, as of the last plan."""
        return self._ledger.root.virtual

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self._ledger

    def overdue_rows(self, aging: Aging, now_us: int) -> Iterable[int]:
        """Yield the unclaimed rows that may go into the band above."""
        for job_id, job in self._in_flight_jobs.items():
            if job.claimed_us == UNCLAIMED:
                aged = job.lane.aged
                origin = self.band if aged is None else aged
                if aging.due_us(job.head, origin=origin, band=self.band - 1) <= now_us:
                    yield job_id

    def set_aging(self, aging: Aging | None) -> None:
        """Set how long jobs may wait in their bands; None: for ever."""
        self._ledger.aging = aging
        for heads in self._lanes:
            heads.ages_us = NEVER_AGES
            if aging is not None:
                aging.note(heads)

    def unclaimed_of(self, paused: Paused) -> tuple[int, ...]:
        """Return the unclaimed rows that these pauses name, ascending: recall them."""
        waiting = [x for x in self._in_flight_jobs.items() if x[1].claimed_us == UNCLAIMED]
        return tuple(sorted(i for i, job in waiting if is_paused(paused, job.lane)))

    @property
    def may_exceed_limits(self) -> bool:
        """Whether more rows may wait than limits allow."""
        return self._ledger.may_exceed_limits

    def lanes_of_blocked_queues(self) -> Counter[int]:
        """Return how many lanes wait because their queues are blocked, by reason."""
        counts: Counter[int] = Counter()
        for queue in self._ledger.queues.values():
            if queue.blocked_by:
                counts[queue.blocked_by] += queue.branch.accounts.active
        return counts

    @property
    def is_behind(self) -> bool:
        """Whether lanes are left that the last plan had no time to admit."""
        return self._pauses.is_behind

    @property
    def awaits_values(self) -> bool:
        """Whether the last plan left something to dispatch once its attributes are read."""
        return self._ledger.key_state.awaits_values

    def attribute_requests(self) -> tuple[AttributeRequest, ...]:
        """Return what to read of jobs for keys and rules; call it once before each `learn`."""
        ledger = self._ledger
        self._queries = job_attributes.next_queries(ledger) if ledger.key_state.queues else ()
        return job_attributes.attribute_requests(self._queries)

    def learn(self, texts: Sequence[str | None]) -> None:
        """Take the attributes in the order of the requests; the last may be missing.

        A job that is gone has none: it will not be dispatched.
        """
        job_attributes.learn(self._ledger, self._queries, texts)
        self._queries = ()

    def begin_plan(self, now_us: int, slots: int) -> None:
        """Begin a plan: charge running jobs, and bring V up to date."""
        ledger = self._ledger
        ledger.now_us = now_us
        if slots != ledger.slots:
            apply_policy.resize(ledger, slots)
        if ledger.stale:
            apply_policy.apply_to_lanes(ledger)
        self.refresh(now_us)
        ledger.settle()

    def rise(self) -> tuple[int, list[int]]:
        """Return by how much to raise the tags of which unclaimed rows; 0: of none."""
        ledger = self._ledger
        lowest = ledger.claim_floor.lowest_tag()
        floor = ledger.floor if lowest == NEVER else lowest
        by = ledger.tag_shift.due(floor, ledger.unclaimed)
        waiting = self._in_flight_jobs.items() if by else ()
        return by, sorted(i for i, job in waiting if job.claimed_us == UNCLAIMED)

    def raised(self, by: int, ids: Collection[int]) -> None:
        """Note that all tags are written as so much more, and that these rows have theirs."""
        self._ledger.tag_shift.raised(by, ids, self._in_flight_jobs)

    def readmit(self) -> list[Branch]:
        """Admit lanes that keys blocked; returns as `admit_changed`."""
        key_state = self._ledger.key_state
        if (
            key_state.queues
            or key_state.to_readmit
            or key_state.unevaluated
            or key_state.awaits_values
        ):
            return job_attributes.readmit(self._ledger, self.admit)
        return []

    def pick(
        self, depth: int, past: int, heads: Heads, begun: Iterable[Branch]
    ) -> tuple[Picker, int]:
        """Pick jobs and count them as dispatched; also returns how many go past the depth.

        Reserves go first, then the smallest tags, then, by up to `past` rows beyond the depth,
        the branches in `begun`, which begin to wait and overtake queued rows.
        """
        ledger = self._ledger
        slots, places = ledger.slots, ledger.places
        if places is not None:
            places.begin_plan(slots, ledger.context.slot_entry.passed_over)
            self._unblock_long(more=False)
        picks = Picker(ledger, heads, slots=max(1, slots), lag_us=self._lag_us)
        if ledger.reserving:
            picks.reserve(depth + past - ledger.unclaimed)
        reserved = len(picks.jobs)
        picks.fill(depth - ledger.unclaimed)
        while (
            places is not None
            and depth > ledger.unclaimed
            and not picks.is_deep_enough
            and self._unblock_long(more=True)
        ):
            # An unblocked lane may be blocked by something else, and not have used the room:
            # others of its queue may have used up a rate.
            picks.fill(depth - ledger.unclaimed)
        within = len(picks.jobs) - min(reserved, max(0, ledger.unclaimed - depth))
        picks.overtake(dict.fromkeys(begun), depth + past - ledger.unclaimed)
        lowest = ledger.claim_floor.lowest_tag()
        if lowest != NEVER:
            ledger.floor = lowest
        self._touch(job[0] for job in picks.jobs)
        heads.taken(len(picks.jobs) + len(picks.doubtful))
        return picks, len(picks.jobs) - within

    @property
    def waits_for_room(self) -> bool:
        """Whether the last plan has left a job that nothing but its room kept back."""
        return self._ledger.root.first() is not None

    def refused(self, ids: Iterable[int]) -> None:
        """Undo the dispatch of ids that the database did not take; ask it about them again.

        Call it before the next plan: rates get back what these took.
        """
        for job_id in self._touch(ids):
            job = self._ledger.withdraw(job_id)
            if job is not None:
                for member in (job.lane, job.lane.queue):
                    if member.bounds is not None:
                        member.bounds.refund()
                        self._ledger.blocked.recheck(member)

    def claimed(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers claimed these rows."""
        self._ledger.claim(self._touch(ids), at_us)

    def ended(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Note that these left `work_queue` after running so long; 0: they had not started."""
        self._touch(ids)
        self._ledger.end(ids, run_us)

    def returned(self, ids: Iterable[int], at_us: int) -> None:
        """Note that these wait again; what they ran stays charged."""
        self._ledger.hand_back(self._touch(ids), at_us)

    def recalled(self, ids: Iterable[int], heads: Heads) -> tuple[int, ...]:
        """Note that these left `work_queue` unclaimed: they are refunded, and heads again.

        Returns the ids whose place is not known (adopted at the take-over): read them from
        `jobs` and hand them to `heads.missed`.
        """
        unknown: list[int] = []
        for job_id in self._touch(ids):
            job = self._ledger.withdraw(job_id)
            if job is None or job.head is None:
                unknown.append(job_id)
            else:
                lane = job.lane
                heads.put_back((lane.queue.name, lane.tenant, job.rank), job.head)
        return tuple(unknown)

    def moved(self, queue: str, ids: Iterable[int], ranks: tuple[int, int]) -> list[int]:
        """Note that these have another rank: the one they had, and the one they have.

        Returns the unclaimed rows that may go too early, or in another band than theirs: recall
        them. Those of jobs that were raised in their band go no later than dispatched anew.
        """
        former, rank = ranks
        table, early = self._ledger.table, list[int]()
        known = self._ledger.queues.get(queue)
        strays = rank > former or table.band_of(queue, rank) != table.band_of(queue, former)
        for job_id in ids:
            if known is not None and known.keys is not None:
                known.keys.rule_results.reprioritise(job_id, -rank)
            job = self._in_flight_jobs.get(job_id)
            if job is None or (job.head is not None and job.rank == rank):
                continue
            job.head = None  # where it stands now has to be asked when it comes back
            if strays and job.claimed_us == UNCLAIMED:
                early.append(job_id)
        return early

    def still_unclaimed(self, ids: Iterable[int]) -> list[int]:
        """Return which of these wait in `work_queue` for a worker."""
        jobs = ((job_id, self._in_flight_jobs.get(job_id)) for job_id in ids)
        return [job_id for job_id, job in jobs if job and job.claimed_us == UNCLAIMED]

    def refresh(self, now_us: int) -> None:
        """Charge running jobs for what they have run beyond their charge.

        Each plan does so by itself; a call soon after another changes nothing.
        """
        if now_us - self._refreshed_us >= self._lag_us:
            self._refreshed_us = now_us
            refresh_us = self._ledger.settings.refresh_us
            self._lag_us = max(refresh_us, _REFRESH_US * len(self._in_flight_jobs))
            late_charges.charge_running(self._ledger, now_us)

    def apply(self, table: CompiledPolicy, now_us: int) -> None:
        """Apply another policy, from the next plan on."""
        apply_policy.apply(self._ledger, table, now_us)
        self._lag_us = min(self._lag_us, table.settings.refresh_us)

    def adopt(
        self,
        table: CompiledPolicy,
        context: PoolContext,
        rows: Iterable[QueueRow],
        now_us: int,
        floor: int,
    ) -> None:
        """Start from a full read of `work_queue` and the floor in force; forget all else."""
        self._in_flight_jobs.clear()
        self._lanes.clear()
        self._ledger = Ledger(table, self._in_flight_jobs, context, band=self.band)
        self._ledger.now_us = now_us
        self._pauses = Pauses()
        self._touched = None
        self._queries = ()
        recovery.adopt(self._ledger, rows, now_us, floor)

    def begin_reconcile(self) -> None:
        """Note that a full read of `work_queue` for `reconcile` is about to be sent."""
        self._touched = set()

    def reconcile(self, rows: Iterable[QueueRow], now_us: int, heads: Heads) -> int:
        """Correct the ledger by a full read; returns how many ids were wrong.

        Ids that any event has touched since `begin_reconcile` are left alone. Report the
        endings that were committed before the read first: an ending that is reported later
        finds its job gone, and its run time is not learnt.
        """
        touched: Container[int] = self._touched or ()
        self._touched = None
        wrong = recovery.reconcile(self._ledger, rows, now_us, touched)
        for lane in recovery.forget_idle_lanes(self._ledger):
            self._lanes.pop(lane, None)
            heads.forget(lane)
        return wrong

    def admit_changed(self, changed: Iterable[LaneHeads], paused: Paused) -> list[Branch]:
        """Admit lanes with new heads; returns the branches that begin to wait."""
        ledger = self._ledger
        changed_lanes = self._pauses.update(paused, ledger.queues)
        arrived = [lane.account.branch for lane in changed_lanes if self.admit(lane)]
        for heads in changed:
            lane = self._lanes.get(heads)
            if lane is None:
                lane = self._lanes[heads] = ensure_lane(ledger, heads.queue, heads.tenant)
                lane.heads = heads
            if self.admit(lane):
                arrived.append(lane.account.branch)
            if not heads.streams:
                ledger.unblock(lane)
                del self._lanes[heads]
        return arrived

    def admit_aged(self, lanes: Iterable[LaneHeads]) -> list[Branch]:
        """Admit the first jobs of lanes of bands below; returns as `admit_changed`."""
        begun: list[Branch] = []
        for heads in lanes:
            lane = ensure_aged_lane(self._ledger, heads.queue, heads.tenant, heads.band)
            lane.heads = heads
            lane.mean = self._ledger.context.mean_of(heads) or lane.mean
            if self.admit(lane):
                begun.append(lane.account.branch)
        return begun

    def update_aged(self, heads: LaneHeads) -> None:
        """Admit a lane of aged jobs that waited for these heads; rest it if none aged."""
        queue = self._ledger.queues.get(heads.queue)
        lane = None if queue is None else queue.aged.get((heads.tenant, heads.band))
        if (
            lane
            and lane.active
            and not lane.offered
            and not self._ledger.deactivate_unless_aged(lane)
        ):
            self.admit(lane)

    def unblock(self, members: Iterable[Member]) -> list[Branch]:
        """Admit members that nothing blocks any longer.

        Returns the branches of those that have nothing in flight: they begin to wait.
        """
        blocked = self._ledger.blocked
        begun: list[Branch] = []
        for member in members:
            if isinstance(member, Lane):
                if member.blocked_by == RESERVE:
                    self.admit(member)
                elif member.blocked_by in BOUNDS:
                    blocked.unblock(member, self._ledger.now_us)
                    if self.admit(member) and not member.in_flight:
                        begun.append(member.account.branch)
            elif member.blocked_by in BOUNDS:
                self._ledger.unblock_queue(member)
                begun += () if member.in_flight else (member.branch,)
        return begun

    def _unblock_long(self, *, more: bool) -> bool:
        """Admit lanes of long jobs for which there is room.

        Returns whether any of their queues is free.
        """
        lanes = self._ledger.unblock_long(more=more)
        for lane in lanes:
            self.admit(lane)
        return any(lane.queue.blocked_by == FREE for lane in lanes)

    def admit(self, lane: Lane) -> bool:
        """Let a lane wait for service, block it, or rest it; whether it begins to wait."""
        ledger = self._ledger
        if lane.blocked_by in PASSING or (
            lane.blocked_by == RESERVE and not ledger.awaits_place(lane)
        ):
            ledger.unblock(lane)
        if lane.heads.stream is None:
            ledger.rest(lane)
            return False
        paused = self._pauses.is_paused(lane)
        if paused or ledger.context.name is None:
            ledger.block(lane, PAUSED if paused else POOL)
            return False
        has_keys = lane.queue.keys is not None
        is_known = lane.account.is_known
        lane.heads.wants_changes = has_keys or not is_known
        if has_keys:
            ledger.key_state.unread[lane] = None
        if not is_known and len(lane.heads.ready) > 1:
            self._hasten(lane.account)
        if lane.blocked_by != FREE or (lane.bounds is not None and ledger.block_if_full(lane)):
            return False
        joins = not lane.active
        if joins:
            ledger.activate(lane)
        if lane.offered or not lane.heads.ready:
            return False
        self._offer(lane)
        # One that was known before its heads were read begins to wait when they arrive; one
        # with jobs in flight does not begin, for its heads had only run out.
        return joins or not lane.in_flight

    def _hasten(self, account: Account) -> None:
        """Let a newcomer that was put off, and its branch, go with those of several jobs."""
        with self._ledger.short_reserve.moving(account):
            account.branch.accounts.hasten(account)
        self._ledger.root.hasten(account.branch)

    def _offer(self, lane: Lane) -> None:
        """Let a lane have turns of its account, and the account of its branch."""
        account, branch = lane.account, lane.account.branch
        account.offer(lane)
        if account.key == OUT:
            branch.accounts.put(account)
        if branch.key == OUT and branch.active:
            self._ledger.root.put(branch)

    def _touch(self, ids: Iterable[int]) -> Iterable[int]:
        """Remember what changes while a full read is under way; returns the ids."""
        if self._touched is None:
            return ids
        ids = tuple(ids)
        self._touched.update(ids)
        return ids
