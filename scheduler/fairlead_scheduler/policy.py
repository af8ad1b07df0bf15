"""The fair order: which pending jobs enter `work_queue` next, and with which order tags.

Two-level start-time fair queueing (Goyal, Vin and Cheng, 1996), charged in slot-microseconds
as the virtual token counter does (Sheng and others, 2024), with up to D jobs outstanding as
SFQ(D) (Jin, Chase and Kaur, 2004). A lane is charged an estimate when its job is dispatched,
what a long run takes beyond that while it runs, and the difference at its end. Tags are made
at dispatch, so nothing is rewritten when an estimate or a policy changes.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence

from fairlead_scheduler import amendment, recovery, scenes, traits
from fairlead_scheduler.aging import Aging
from fairlead_scheduler.books import UNCLAIMED, Flight, Lane, Queue
from fairlead_scheduler.bounds import BOUNDS, FREE, PASSING, PAUSED, POOL, RESERVE
from fairlead_scheduler.explain import Scene
from fairlead_scheduler.holds import Member, names
from fairlead_scheduler.keys import Trait
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import NEVER, OUT
from fairlead_scheduler.pauses import Pauses
from fairlead_scheduler.picks import Picks
from fairlead_scheduler.shared import Shared
from fairlead_scheduler.streams import NEVER_AGES, LaneHeads
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import Paused, QueueRow

_REFRESH_US = 10
"""How much longer it takes until the next refresh for each job in flight. One costs a
fiftieth of that, so refreshing takes a fiftieth of the time at most."""


class FairOrder:
    """The order of one (pool, band): between queues, and inside each queue between tenants.

    Every method is an event and carries its time. Unknown ids are ignored, so a repeated event
    changes nothing.
    """

    def __init__(self, table: Table, shared: Shared, *, band: int = 0) -> None:
        self.band = band
        self._flights: dict[int, Flight] = {}
        self._ledger = Ledger(table, self._flights, shared, band=band)
        self._lanes: dict[LaneHeads, Lane] = {}
        self._pauses = Pauses()
        self._touched: set[int] | None = None
        self._asked: tuple[traits.Asked, ...] = ()
        self._refreshed_us = 0
        self._lag_us = self._ledger.settings.refresh_us
        """How late a running job may be charged."""

    @property
    def unclaimed(self) -> int:
        """How many rows of `work_queue` wait for a worker, by the books."""
        return self._ledger.unclaimed

    @property
    def in_flight(self) -> Collection[int]:
        """The ids that are in `work_queue`, by the books: a live view."""
        return self._flights.keys()

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, over all queues; the first prior at the start."""
        return self._ledger.mean.value_us(self._ledger.settings.prior_us)

    @property
    def floor(self) -> int:
        """The smallest unclaimed tag, as far as the books know."""
        return self._ledger.floor

    @property
    def virtual_time(self) -> int:
        """V between the queues, as of the last plan."""
        return self._ledger.root.virtual

    @property
    def ledger(self) -> Ledger:
        """The books."""
        return self._ledger

    def overdue(self, aging: Aging, now_us: int) -> Iterable[int]:
        """Yield the unclaimed rows that may go into the band above."""
        for job_id, flight in self._flights.items():
            if flight.claimed_us == UNCLAIMED:
                aged = flight.lane.aged
                origin = self.band if aged is None else aged
                if aging.due_us(flight.head, origin=origin, band=self.band - 1) <= now_us:
                    yield job_id

    def watch_ages(self, aging: Aging | None) -> None:
        """Heed from now on how long jobs may wait in their bands; None: for ever."""
        self._ledger.aging = aging
        for heads in self._lanes:
            heads.ages_us = NEVER_AGES
            if aging is not None:
                aging.note(heads)

    def unclaimed_of(self, paused: Paused) -> tuple[int, ...]:
        """Return the unclaimed rows that these pauses name, ascending: recall them."""
        waiting = [x for x in self._flights.items() if x[1].claimed_us == UNCLAIMED]
        return tuple(sorted(i for i, flight in waiting if names(paused, flight.lane)))

    @property
    def over(self) -> bool:
        """Whether more rows may wait than limits allow."""
        return self._ledger.over

    def held_in_queues(self) -> Counter[int]:
        """Return how many lanes wait because their queues are held back, by reason."""
        counts: Counter[int] = Counter()
        for queue in self._ledger.queues.values():
            if queue.held:
                counts[queue.held] += queue.lanes.active
        return counts

    def scene(
        self, queue: str, tenant: str, *, now_us: int, slots: int, free: int, job_id: int = 0
    ) -> Scene | None:
        """Return where a lane stands, to be explained; None when it is not known."""
        return scenes.scene(
            self._ledger,
            queue,
            tenant,
            job_id,
            now_us=now_us,
            slots=slots,
            free=free,
            mean_us=self.mean_us,
        )

    @property
    def behind(self) -> bool:
        """Whether the next plan is to let lanes wait for service for which one had no time."""
        return self._pauses.behind

    @property
    def awaits_values(self) -> bool:
        """Whether the last plan left something to be dispatched once its traits are read."""
        return self._ledger.keyed.awaits_values

    def traits(self) -> tuple[Trait, ...]:
        """Return what to read of jobs for keys and rules; call it once before each `learn`."""
        ledger = self._ledger
        self._asked = traits.ask(ledger) if ledger.keyed.queues else ()
        return traits.wanted(self._asked)

    def learn(self, texts: Sequence[str | None]) -> None:
        """Take the traits in the order in which they were asked for; the last may be missing.

        A job that is gone has none: it will not be dispatched.
        """
        traits.learn(self._ledger, self._asked, texts)
        self._asked = ()

    def begin(self, now_us: int, slots: int) -> None:
        """Begin a plan: charge what runs, and bring V up to date."""
        ledger = self._ledger
        ledger.now_us = now_us
        if slots != ledger.slots:
            amendment.resize(ledger, slots)
        if ledger.stale:
            amendment.amend_lanes(ledger)
        self.refresh(now_us)
        ledger.settle()

    def look_again(self) -> list[Queue]:
        """Let those wait for service whom keys held; as `arrive`."""
        keyed = self._ledger.keyed
        if keyed.queues or keyed.again or keyed.unjudged or keyed.awaits_values:
            return traits.look_again(self._ledger, self.admit)
        return []

    def pick(
        self, depth: int, past: int, heads: Heads, begun: Iterable[Queue]
    ) -> tuple[Picks, int]:
        """Pick what to dispatch, and count it as dispatched; also how many go past the depth.

        Reserves go first, then the smallest tags, then, by so many `past` the depth, the queues
        that have `begun` to wait and overtake what is queued.
        """
        ledger = self._ledger
        slots, longs = ledger.slots, ledger.longs
        if longs is not None:
            longs.resize(slots)
            self._unpark()
        picks = Picks(ledger, heads, slots=max(1, slots), lag_us=self._lag_us)
        if ledger.reserving:
            picks.reserve(depth + past - ledger.unclaimed)
        reserved = len(picks.jobs)
        picks.fill(depth - ledger.unclaimed)
        while longs is not None and depth > ledger.unclaimed and self._unpark():
            # Who was let go may be held by something else, and not have used the room:
            # others of its queue may have used up a rate.
            picks.fill(depth - ledger.unclaimed)
        within = len(picks.jobs) - min(reserved, max(0, ledger.unclaimed - depth))
        picks.overtake(dict.fromkeys(begun), depth + past - ledger.unclaimed)
        lowest = ledger.fronts.lowest_tag()
        if lowest != NEVER:
            ledger.floor = lowest
        self._touch(job[0] for job in picks.jobs)
        heads.taken(len(picks.jobs) + len(picks.doubtful))
        return picks, len(picks.jobs) - within

    def refused(self, ids: Iterable[int]) -> None:
        """Undo the dispatch of ids that the database did not take; ask it about them again.

        Say so before the next plan: rates are given back what these took.
        """
        for job_id in self._touch(ids):
            flight = self._ledger.withdraw(job_id)
            if flight is not None:
                for member in (flight.lane, flight.lane.queue):
                    if member.bounds is not None:
                        member.bounds.refund()
                        self._ledger.holds.ask_again(member)

    def claimed(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers took these rows."""
        self._ledger.claim(self._touch(ids), at_us)

    def ended(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Note that these left `work_queue` after so long a run; 0: they had not started."""
        self._touch(ids)
        self._ledger.end(ids, run_us)

    def returned(self, ids: Iterable[int], at_us: int) -> None:
        """Note that these wait again; what they ran stays charged."""
        self._ledger.give_back(self._touch(ids), at_us)

    def recalled(self, ids: Iterable[int], heads: Heads) -> tuple[int, ...]:
        """Note that these left `work_queue` unclaimed: they are refunded, and heads again.

        Returns the ids whose place is not known (adopted at the take-over): read them from
        `jobs` and hand them to `heads.missed`.
        """
        unknown: list[int] = []
        for job_id in self._touch(ids):
            flight = self._ledger.withdraw(job_id)
            if flight is None or flight.head is None:
                unknown.append(job_id)
            else:
                lane = flight.lane
                heads.put_back((lane.queue.name, lane.tenant, flight.rank), flight.head)
        return tuple(unknown)

    def refresh(self, now_us: int) -> None:
        """Charge running jobs for what they have run beyond their charge.

        Each plan does so by itself; a call soon after another changes nothing.
        """
        if now_us - self._refreshed_us >= self._lag_us:
            self._refreshed_us = now_us
            refresh_us = self._ledger.settings.refresh_us
            self._lag_us = max(refresh_us, _REFRESH_US * len(self._flights))
            self._ledger.refresh(now_us)

    def apply(self, table: Table, now_us: int) -> None:
        """Serve everybody on the terms of another table, from the next plan on."""
        amendment.amend(self._ledger, table, now_us)
        self._lag_us = min(self._lag_us, table.settings.refresh_us)

    def adopt(
        self, table: Table, shared: Shared, rows: Iterable[QueueRow], now_us: int, floor: int
    ) -> None:
        """Start from a full read of `work_queue`, and the floor in force; forget all else."""
        self._flights.clear()
        self._lanes.clear()
        self._ledger = Ledger(table, self._flights, shared, band=self.band)
        self._ledger.now_us = now_us
        self._pauses = Pauses()
        self._touched = None
        self._asked = ()
        recovery.adopt(self._ledger, rows, now_us, floor)

    def reading(self) -> None:
        """Say that a full read of `work_queue` for `reconcile` is about to be sent."""
        self._touched = set()

    def reconcile(self, rows: Iterable[QueueRow], now_us: int, heads: Heads) -> int:
        """Correct the books by a full read; returns how many ids were wrong.

        Ids that any event has touched since `reading` are left alone, so tell the endings
        that were committed before the read ended first: an ending that comes later finds its
        job gone, and its run time is not learnt.
        """
        touched: Container[int] = self._touched or ()
        self._touched = None
        wrong = recovery.reconcile(self._ledger, rows, now_us, touched)
        for lane in recovery.forget(self._ledger):
            self._lanes.pop(lane, None)
            heads.forget(lane)
        return wrong

    def arrive(self, changed: Iterable[LaneHeads], paused: Paused) -> list[Queue]:
        """Let lanes with new heads wait for service; returns the queues that they join."""
        ledger = self._ledger
        heeded = self._pauses.heed(paused, ledger.queues)
        arrived = [lane.queue for lane in heeded if self.admit(lane)]
        for heads in changed:
            lane = self._lanes.get(heads)
            if lane is None:
                lane = self._lanes[heads] = ledger.lane(heads.queue, heads.tenant)
                lane.heads = heads
            if self.admit(lane):
                arrived.append(lane.queue)
            if not heads.streams:
                ledger.let(lane)
                del self._lanes[heads]
        return arrived

    def age(self, lanes: Iterable[LaneHeads]) -> list[Queue]:
        """Let the first jobs of lanes of bands below wait for service; as `arrive`."""
        begun: list[Queue] = []
        for heads in lanes:
            lane = self._ledger.aged_lane(heads.queue, heads.tenant, heads.band)
            lane.heads = heads
            lane.mean = self._ledger.shared.mean_of(heads) or lane.mean
            if self.admit(lane):
                begun.append(lane.queue)
        return begun

    def see(self, heads: LaneHeads) -> None:
        """Let a lane of aged jobs go on that waited for these heads, or rest if none aged."""
        queue = self._ledger.queues.get(heads.queue)
        lane = None if queue is None else queue.aged.get((heads.tenant, heads.band))
        if lane and lane.active and lane.key == OUT and not self._ledger.leaves(lane):
            self.admit(lane)

    def go_on(self, members: Iterable[Member]) -> list[Queue]:
        """Let those wait for service whom nothing holds back any longer.

        Returns the queues of those that have nothing in flight: they begin to wait.
        """
        holds = self._ledger.holds
        begun: list[Queue] = []
        for member in members:
            if isinstance(member, Lane):
                if member.held == RESERVE:
                    self.admit(member)
                elif member.held in BOUNDS:
                    holds.let(member, self._ledger.now_us)
                    if self.admit(member) and not member.in_flight:
                        begun.append(member.queue)
            elif member.held in BOUNDS:
                self._ledger.free(member)
                begun += () if member.in_flight else (member,)
        return begun

    def _unpark(self) -> bool:
        """Let lanes of long jobs wait for service for whose next ones there is room.

        Whether any of them may go, as far as its queue is concerned.
        """
        lanes = self._ledger.unpark()
        for lane in lanes:
            self.admit(lane)
        return any(lane.queue.held == FREE for lane in lanes)

    def admit(self, lane: Lane) -> bool:
        """Let a lane wait for service, or rest; says whether it has begun to wait."""
        ledger = self._ledger
        if lane.held in PASSING or (lane.held == RESERVE and not ledger.is_long(lane)):
            ledger.let(lane)
        if lane.heads.front is None:
            if lane.active:
                ledger.rest(lane)
            return False
        paused = self._pauses.name(lane)
        if paused or ledger.shared.name is None:
            ledger.hold(lane, PAUSED if paused else POOL)
            return False
        lane.heads.told = lane.queue.keys is not None
        if lane.heads.told:
            ledger.keyed.unread[lane] = None
        if lane.held != FREE or (lane.bounds is not None and ledger.bar(lane)):
            return False
        woken = not lane.active
        if woken:
            ledger.wake(lane)
        if lane.key != OUT or not lane.heads.ready:
            return False
        queue = lane.queue
        queue.lanes.put(lane)
        if queue.key == OUT and queue.active:
            ledger.root.put(queue)
        # One that was known before its heads were read begins to wait when they arrive; one
        # with jobs in flight does not begin, for its heads had only run out.
        return woken or not lane.in_flight

    def _touch(self, ids: Iterable[int]) -> Iterable[int]:
        """Remember what has changed while a full read is under way; returns the ids."""
        if self._touched is None:
            return ids
        ids = tuple(ids)
        self._touched.update(ids)
        return ids
