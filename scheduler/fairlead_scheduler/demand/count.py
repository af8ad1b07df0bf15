"""What a pool needs, as if it had its maximum of slots: one count of its lanes.

Without workers nothing is queued, and a limit of 25 % of no slots is none; so limits are taken
of the maximum, and what waits is counted in the lanes. A lane counts what its limit, its rates,
its pauses and holds allow, then its queue's, then the maximum.

Work is what the policy would let run within the objective, not only what it lets start now: a
lane with a limit of 5 and a long backlog uses 5 slots all the while.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from fairlead_scheduler.limits.blocked_reasons import PASSING
from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.limits.waiting_lanes import OF_KIND, KeyValue
from fairlead_scheduler.ordering.blocked import Member, is_paused
from fairlead_scheduler.ordering.in_flight import UNCLAIMED
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused
from fairlead_scheduler.policy import gcra
from fairlead_scheduler.policy.compiled import NO_LIMIT

NEVER_US = 1 << 62
_LANE_US, _BOUNDED_US, _HEAD_US = 2, 6, 2
"""Approximate costs, so that a tick does no more than it has time for."""
_HEADS_MAX = 32
"""Heads of a lane whose keys are checked."""
_NO_LENGTHS: Mapping[tuple[str, str], int] = {}


class PoolMaximum(NamedTuple):
    """What a pool may grow to."""

    slots: int
    """Of as many pods as there may be."""
    horizon_us: int
    """How long a job may wait: rates are taken over so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountResult:
    """The result of a count."""

    at_us: int
    work_us: int
    """Slot-microseconds of jobs that may run within the objective and have not started."""
    jobs: int
    """How many these are."""
    slots_useful: int
    """Slots that what runs and what may run now would take at once, and those kept beside long
    jobs for short ones, without which the last long ones would not start."""
    slots_kept: int
    """Of these, slots that no job uses."""
    slots_allowed: int
    """Slots that the policy would let be busy if every lane had work enough."""
    oldest_us: int | None
    """Since when the oldest of these jobs has waited; None: none has, or no head is read."""
    unread: tuple[LaneHeads, ...]
    """Lanes that have more jobs than were at hand and counted."""

    @property
    def has_work(self) -> bool:
        """Whether any job may run that has not started."""
        return self.jobs > 0


class DemandPart:
    """The counts of a lane, a queue or a pool."""

    __slots__ = (
        "allowed",
        "jobs",
        "long",
        "oldest_us",
        "queued",
        "running",
        "waiting",
        "work_us",
    )

    def __init__(self) -> None:
        self.running = 0
        self.queued = 0
        """In `work_queue`, and not claimed."""
        self.waiting = 0
        """Not in it, and might be at once."""
        self.jobs = 0
        """Queued, or might run within the horizon."""
        self.work_us = 0
        """Slot-microseconds that these take."""
        self.long = 0
        """Of those that run, are queued or wait, jobs that leave the reserve free."""
        self.allowed = 0
        """Slots that might be busy at once, however much waited."""
        self.oldest_us = NEVER_US

    @property
    def slots(self) -> int:
        """What runs and what might run at once."""
        return self.running + self.queued + self.waiting

    def add(self, other: "DemandPart") -> None:
        """Add another part."""
        self.running += other.running
        self.queued += other.queued
        self.waiting += other.waiting
        self.jobs += other.jobs
        self.work_us += other.work_us
        self.long += other.long
        self.allowed += other.allowed
        self.oldest_us = min(self.oldest_us, other.oldest_us)

    def bound(self, member: Member, bounds: Limiter, most: PoolMaximum, now_us: int) -> None:
        """Cut it to what the limit and the rates of a member allow; running jobs run on."""
        running = self.running
        limit = member.terms.limit_of(most.slots)
        if len(bounds.members) > 1:
            limit = max(0, limit - max(0, bounds.in_flight - running - self.queued))
        self.queued = min(self.queued, max(0, limit - running))
        self.waiting = min(self.waiting, max(0, limit - running - self.queued))
        self.allowed = min(self.allowed, limit)
        if bounds.rates:
            self._bound_by_rates(member, bounds, most, now_us)
        self.long = min(self.long, self.slots)
        if not limit:
            self._cut_jobs(0)
        elif self.work_us > limit * most.horizon_us:
            self.work_us = limit * most.horizon_us

    def _bound_by_rates(
        self, member: Member, bounds: Limiter, most: PoolMaximum, now_us: int
    ) -> None:
        usual_us = member.expected_us if isinstance(member, Lane) else member.prior_us
        mean_us = self.work_us // self.jobs if self.jobs else usual_us
        go, at_once, sustained = _by_rates(bounds, most, now_us, mean_us=mean_us)
        self.waiting = min(self.waiting, at_once)
        self.allowed = min(self.allowed, sustained)
        self._cut_jobs(self.queued + go)

    def _cut_jobs(self, jobs: int) -> None:
        """Leave so many of the jobs, of their mean length."""
        if jobs < self.jobs:
            self.work_us = self.work_us * jobs // self.jobs
            self.jobs = jobs
        if not self.jobs:
            self.oldest_us = NEVER_US


class DemandCount:
    """One count of a pool's lanes, of which a tick does some.

    Args:
        ledgers: Those of its bands.
        most: What it may grow to.
        now_us: The database's time.
        begun_us: Since when jobs count as waiting whose arrival is not known.
        paused: What is not dispatched.
        lengths: How many due jobs, in flight or not, lanes have, as far as they were counted.
    """

    def __init__(
        self,
        ledgers: Sequence[Ledger],
        most: PoolMaximum,
        *,
        now_us: int,
        begun_us: int,
        paused: Paused = NOTHING_PAUSED,
        lengths: Mapping[tuple[str, str], int] = _NO_LENGTHS,
    ) -> None:
        self._most, self._now_us, self._begun_us = most, now_us, begun_us
        self._paused, self._lengths = paused, dict(lengths)
        self._queues: dict[str, tuple[DemandPart, Queue]] = {}
        self._together: dict[Limiter, tuple[DemandPart, Lane]] = {}
        """The counts of lanes that share their bounds, in several bands."""
        self._taken: dict[str | None, Counter[KeyValue]] = {}
        """Jobs of each value of a queue's keys that would start."""
        self._unread: list[LaneHeads] = []
        self._queued: Counter[Lane] = Counter()
        self._queued_us: Counter[Lane] = Counter()
        self._since_us: dict[Lane, int] = {}
        self._count_rows(ledgers)
        settings = ledgers[0].settings
        self._prior_samples, self._short = settings.prior_samples, settings.short
        every = [queue for ledger in ledgers for queue in ledger.queues.values()]
        lanes = [lane for queue in every for lane in queue.all_lanes()]
        self._left: Iterator[Lane] = iter(lanes)
        self._left_together: Iterator[tuple[Limiter, tuple[DemandPart, Lane]]] | None = None
        self.cost_us = 0
        """About how long it has taken so far."""

    def step(self, cost_us: int) -> CountResult | None:
        """Count lanes for about so long; None: some are left."""
        until_us = self.cost_us + cost_us
        if self._left_together is None:
            for lane in self._left:
                self._count_lane(lane)
                if self.cost_us >= until_us:
                    return None
            self._left_together = iter(self._together.items())
        for bounds, (part, lane) in self._left_together:
            # A rule may have given the lane others since, or none.
            self._bound(part, lane, bounds)
            if self.cost_us >= until_us:
                return None
        return self._end()

    def _bound(self, part: DemandPart, lane: Lane, bounds: Limiter) -> None:
        """Cut a lane's counts to its bounds, and add them to its queue."""
        self.cost_us += _BOUNDED_US
        part.bound(lane, bounds, self._most, self._now_us)
        self._queues[lane.queue.name][0].add(part)

    def _count_rows(self, ledgers: Sequence[Ledger]) -> None:
        """Count the rows that wait for a worker, and find since when."""
        queued, since_us, begun_us = self._queued, self._since_us, self._begun_us
        for ledger in ledgers:
            if not ledger.unclaimed:
                continue
            for job in ledger.in_flight_jobs.values():
                if job.claimed_us == UNCLAIMED:
                    lane, head = job.lane, job.head
                    queued[lane] += 1
                    self._queued_us[lane] += job.charged_us
                    seen_us = begun_us if head is None or head[3] is None else head[3]
                    since_us[lane] = min(seen_us, since_us.get(lane, seen_us))

    def _count_lane(self, lane: Lane) -> None:
        """Count a lane."""
        queue, bounds = lane.queue, lane.bounds
        self.cost_us += _LANE_US
        total = self._queues.get(queue.name)
        if total is None or total[1].foreign:
            total = self._queues[queue.name] = (total[0] if total else DemandPart(), queue)
        if bounds is None:
            self._count_into(total[0], lane)
        elif len(bounds.members) > 1:
            self._count_into(self._together.setdefault(bounds, (DemandPart(), lane))[0], lane)
        elif (
            lane.in_flight
            or lane.heads.stream is not None
            or (total[0].allowed < self._most.slots)
        ):
            part = DemandPart()
            self._count_into(part, lane)
            self._bound(part, lane, bounds)

    def _count_into(self, part: DemandPart, lane: Lane) -> None:
        if lane.queue.foreign or (self._paused and is_paused(self._paused, lane)):
            part.running += lane.in_flight - self._queued_of(lane)
            return
        part.allowed = self._most.slots
        if lane.in_flight or lane.heads.stream is not None:
            before = part.slots
            self._count_jobs(lane, part)
            short = self._short
            if short is not None and lane.mean.longest_us >= short.shorter_us:
                part.long += part.slots - before

    def _count_jobs(self, lane: Lane, part: DemandPart) -> None:
        queued = self._queued_of(lane)
        part.running += lane.in_flight - queued
        waiting, heads = 0, lane.heads
        if heads.stream is not None and lane.aged is None and lane.blocked_by not in PASSING:
            waiting = self._waiting(lane, heads)
        if not (waiting or queued):
            return
        work_us, now = waiting * self._expected_us(lane), waiting
        keys = lane.queue.keys
        if waiting and keys is not None and (keys.limits or keys.kinds):
            now = self._by_keys(lane, keys, waiting)
            work_us = min(work_us, now * self._most.horizon_us)
        part.queued += queued
        part.waiting += now
        part.jobs += queued + (waiting if now else 0)
        part.work_us += self._queued_us.get(lane, 0) + work_us
        oldest_us = self._since_us[lane] if queued else NEVER_US
        part.oldest_us = min(part.oldest_us, oldest_us, self._since(lane, waiting))

    def _queued_of(self, lane: Lane) -> int:
        """Return how many rows of a lane wait for a worker; some may have ended since."""
        return min(lane.in_flight, self._queued.get(lane, 0))

    def _by_keys(self, lane: Lane, keys: ConcurrencyKeys[Lane], waiting: int) -> int:
        """Return how many of a lane's jobs keys would let start at once.

        The values of some heads are known. Where one of these has to wait for another job of
        its value, the heads behind them may have to as well, and are not counted.
        """
        free = blocked = 0
        for head in islice(lane.heads.ready, _HEADS_MAX):
            values = keys.heads.get(head[0])
            if values is None:
                continue
            self.cost_us += _HEAD_US
            taken = self._taken.setdefault(lane.queue.name, Counter())
            kinds = self._taken.setdefault(None, Counter())
            counts = [(value, kinds if value.place == OF_KIND else taken) for value in values]
            if any(keys.room(value) <= counted[value] for value, counted in counts):
                blocked += 1
            else:
                free += 1
                for value, counted in counts:
                    counted[value] += 1
        return free if blocked else waiting

    def _expected_us(self, lane: Lane) -> int:
        """Return what the next job of a lane is estimated to take."""
        hint_us = lane.heads.ready[0][2] if lane.heads.ready else None
        if hint_us is None:
            return lane.expected_us
        return lane.hinted_us(hint_us, self._prior_samples)

    def _waiting(self, lane: Lane, heads: LaneHeads) -> int:
        """Return how many jobs wait, as far as that is known."""
        waiting, more = 0, False
        for stream in heads.streams:
            waiting += len(stream.ready)
            more = more or stream.more
        if more:
            self._unread.append(heads)
            # It is over all bands, so that one of them takes it.
            counted = self._lengths.pop((heads.queue, heads.tenant), 0)
            return max(waiting, counted - lane.in_flight)
        return waiting

    def _since(self, lane: Lane, waiting: int) -> int:
        """Return since when the first job of a lane has waited for a slot."""
        if not waiting or not lane.heads.ready:
            return NEVER_US
        seen_us = lane.heads.ready[0][3]
        since_us = self._begun_us if seen_us is None else seen_us
        return max(since_us, lane.waits_since_us) if lane.bounds is not None else since_us

    def _end(self) -> CountResult:
        most, now_us = self._most, self._now_us
        pool = DemandPart()
        for part, queue in self._queues.values():
            if queue.bounds is not None:
                part.bound(queue, queue.bounds, most, now_us)
            pool.add(part)
        useful = used = min(most.slots, pool.slots)
        if self._short is not None and pool.long:
            useful = min(most.slots, max(used, self._short.slots_for(pool.long)))
        return CountResult(
            at_us=now_us,
            work_us=pool.work_us,
            jobs=pool.jobs,
            slots_useful=useful,
            slots_kept=useful - used,
            slots_allowed=max(useful, min(most.slots, pool.allowed)),
            # Jobs are counted before their heads are read: their wait is not known then.
            oldest_us=pool.oldest_us if pool.jobs and pool.oldest_us != NEVER_US else None,
            unread=tuple(self._unread),
        )


def _by_rates(
    bounds: Limiter, most: PoolMaximum, now_us: int, *, mean_us: int
) -> tuple[int, int, int]:
    """Return how many jobs rates let go within the horizon, and how many slots these take.

    The slots are those that are useful now, and those that could ever be busy at once.
    """
    go = at_once = sustained = NO_LIMIT
    for rate, arrival in zip(bounds.rates, bounds.arrivals, strict=True):
        reached = max(arrival, now_us * rate.limit)
        until = (now_us + most.horizon_us) * rate.limit
        go = min(go, max(0, (until - reached) // rate.per_us + rate.burst))
        busy = -(-rate.limit * mean_us // rate.per_us)
        now = max(0, gcra.jobs_allowed(rate, arrival, now_us))
        at_once = min(at_once, max(now, busy) if go else 0)
        sustained = min(sustained, rate.burst + busy)
    return go, at_once, sustained


def jobs_to_saturate(needed: CountResult, most: PoolMaximum, jobs_max: int) -> int:
    """Return how many jobs more could make a difference; 0: there is enough as it is.

    With work for the maximum of slots all through the objective more jobs change nothing.

    Args:
        needed: What has been found so far.
        most: What the pool may grow to.
        jobs_max: What may be counted at most.
    """
    lacking_us = most.slots * most.horizon_us - needed.work_us
    if lacking_us <= 0:
        return 0
    mean_us = max(1, needed.work_us // needed.jobs) if needed.jobs else 1
    return min(jobs_max, -(-lacking_us // mean_us))


def lengths_to_count(
    unread: Collection[LaneHeads], jobs: int
) -> tuple[tuple[str, str, int], ...]:
    """Return which lanes to count, each up to a number of jobs of its own."""
    lanes = dict.fromkeys((each.queue, each.tenant) for each in unread)
    each = max(1, jobs // max(1, len(lanes)))
    return tuple((queue, tenant, each) for queue, tenant in islice(lanes, jobs))
