"""Properties of limits, rates and edits of the policy, on an in-memory fleet of slots."""

from dataclasses import replace
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead_scheduler.policy.compiled import Terms
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support.fleet import Fleet, Key
from tests.support.loads import Load, arrive, bound, flood, happen, watch
from tests.support.tables import table

MS = 1000
SECOND = 1_000_000
Owner = tuple[str, str | None]
"""The owner of limits: a tenant or, with None, a queue."""
Policy = dict[Owner, Terms]

QUEUES, TENANTS = ("q", "r"), ("a", "b", "c")
LANES: tuple[Key, ...] = tuple((queue, tenant) for queue in QUEUES for tenant in TENANTS)
OWNERS: tuple[Owner, ...] = (*LANES, *((queue, None) for queue in QUEUES))

costs = st.integers(min_value=1 * MS, max_value=1 * SECOND)
long_costs = st.integers(min_value=25 * MS, max_value=1 * SECOND)
slot_counts = st.integers(1, 12)
depths = st.sampled_from((0, 4, 30))
weights = st.sampled_from((0.25, 1.0, 1.0, 2.0, 8.0))
rates = st.builds(
    Rate,
    st.integers(1, 40),
    st.sampled_from((100 * MS, 700 * MS, 2 * SECOND)),
    st.integers(1, 9),
)
bounded = st.builds(
    Terms,
    weight=weights,
    limit=st.none() | st.integers(1, 6),
    reserve=st.none() | st.integers(1, 4),
    rates=st.just(())
    | st.lists(rates, max_size=2, unique_by=lambda rate: rate.per_us).map(tuple),
)
policies = st.dictionaries(st.sampled_from(OWNERS), bounded, max_size=len(OWNERS))
edits = st.lists(policies, min_size=1, max_size=4)
events = st.lists(st.sampled_from(("", "return", "recall", "fail over", "sweep")), max_size=30)


loads = st.lists(
    st.builds(
        Load,
        st.sampled_from(LANES),
        st.lists(costs, min_size=1, max_size=4).map(tuple),
        st.integers(1, 20),
        st.integers(100 * MS, 2 * SECOND),
        st.none() | costs,
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda load: load.lane,
)


class Watch:
    """The dispatches, and the policy in force."""

    def __init__(self, fleet: Fleet, policy: Policy) -> None:
        self.fleet = fleet
        self.policy = policy
        self.over: list[str] = []
        self._gone: dict[tuple[Owner, Rate], tuple[int, int]] = {}
        """Dispatches so far, and the largest at_us * limit - place * per_us of any of them."""
        fleet.observe = self.look

    def apply(self, policy: Policy) -> None:
        """Put another policy in force."""
        self.policy = policy
        kept = {(owner, rate) for owner, terms in policy.items() for rate in terms.rates}
        self._gone = {key: gone for key, gone in self._gone.items() if key in kept}
        self.fleet.order.apply(table(policy), self.fleet.now_us)

    def look(self) -> None:
        """Check the dispatches of the last plan."""
        plan, fleet = self.fleet.plans[-1], self.fleet
        owners = [
            owner
            for job_id, *_ in plan.rows
            if job_id in fleet.work
            for job in (fleet.jobs[job_id],)
            for owner in (job.lane, (job.queue, None))
        ]
        for owner in dict.fromkeys(owners):
            terms = self.policy.get(owner, Terms())
            if terms.limit is not None and self.in_flight(owner) > terms.limit:
                self.over.append(f"{owner} has {self.in_flight(owner)} of {terms.limit}")
            for rate in terms.rates:
                self._count(owner, rate, owners.count(owner))
                if self._used(owner, rate) > 0:
                    self.over.append(f"{owner} is over {rate}")

    def eligible(self) -> bool:
        """Return whether a job waits that every limit and every rate allows."""
        return any(map(self.may_go, self.fleet.waiting))

    def may_go(self, lane: Key) -> bool:
        """Return whether every limit and every rate allows a job of a lane."""
        if lane in self.fleet.paused:
            return False
        return self.has_room(lane) and self.has_room((lane[0], None))

    def has_room(self, owner: Owner) -> bool:
        """Return whether a lane or queue may have one job more."""
        terms = self.policy.get(owner, Terms())
        if terms.limit is not None and self.in_flight(owner) >= terms.limit:
            return False
        return all(self._used(owner, rate) + rate.per_us <= 0 for rate in terms.rates)

    def in_flight(self, owner: Owner) -> int:
        """Return how many rows of `work_queue` a lane or queue has."""
        queue, tenant = owner
        rows = self.fleet.work.values()
        return sum(job.queue == queue and tenant in (None, job.tenant) for job in rows)

    def _count(self, owner: Owner, rate: Rate, jobs: int) -> None:
        count, latest = self._gone.get((owner, rate), (0, 0))
        begun = self.fleet.now_us * rate.limit - count * rate.per_us
        self._gone[owner, rate] = count + jobs, max(latest, begun) if count else begun

    def _used(self, owner: Owner, rate: Rate) -> int:
        """Return by how much the fullest stretch of time up to now is above the rate.

        That is the largest of (jobs - burst) * per_us - time * limit over all stretches that
        begin with a job; when it is -per_us or less, one more may go.
        """
        count, latest = self._gone.get((owner, rate), (0, 0))
        if not count:
            return -rate.burst * rate.per_us
        return (count - rate.burst) * rate.per_us - self.fleet.now_us * rate.limit + latest


@given(loads, slot_counts, depths, edits, events)
def test_no_limit_and_no_rate_is_ever_exceeded(
    lanes: list[Load], slots: int, depth: int, edited: list[Policy], happens: list[str]
) -> None:
    """With arrivals, endings, crashes, refused dispatches, edits and new leaders."""
    fleet = Fleet(slots=slots, depth=depth, table=table(edited[0]))
    watched = Watch(fleet, edited[0])
    arrive(fleet, lanes, until_us=3 * SECOND)
    while fleet.now_us < 4 * SECOND:
        if fleet.now_us // SECOND != (fleet.now_us - fleet.tick_us) // SECOND:
            watched.apply(edited[fleet.now_us // SECOND % len(edited)])
        happen(fleet, happens.pop() if happens else "")
        fleet.run(fleet.now_us + fleet.tick_us)

    assert [] == watched.over


@given(loads, slot_counts, depths, edits)
def test_no_slot_is_free_while_a_job_could_run_that_nothing_holds_back(
    lanes: list[Load], slots: int, depth: int, edited: list[Policy]
) -> None:
    """Work conservation: an idle slot means that no pending job is eligible.

    The edits leave the rates alone: what was used under another rate stays used, and no count
    of dispatches shows that.
    """
    fleet = Fleet(slots=slots, depth=depth, table=table(edited[0]))
    watched = Watch(fleet, edited[0])
    wasted: list[int] = []

    def observe() -> None:
        watched.look()
        if len(fleet.running) < fleet.slots and watched.eligible():
            wasted.append(fleet.now_us)

    fleet.observe = observe
    arrive(fleet, lanes, until_us=3 * SECOND)
    for policy in edited:
        watched.apply(with_rates_of(edited[0], policy))
        fleet.run(fleet.now_us + SECOND)

    assert [] == wasted


_QUIET_MAX = 8
"""A lane with more jobs may be one whose batch takes places until one of them has ended."""


class Reserve:
    """What lanes have shown, and which jobs take places outside the reserve."""

    def __init__(self, fleet: Fleet, longer_us: int) -> None:
        self._fleet, self._longer_us = fleet, longer_us
        self._short: set[Key] = set()
        self._placed: set[int] = set()

    def placed(self) -> int:
        """Return how many jobs in flight may be long, as far as their lanes had shown."""
        fleet = self._fleet
        long = {job.lane for job in fleet.jobs.values() if job.cost_us >= self._longer_us}
        jobs = fleet.waiting + fleet.in_flight
        batches = {lane for lane, count in jobs.items() if count > _QUIET_MAX}
        self._short = {job.lane for job in fleet.ended} - long - batches
        self._placed &= fleet.work.keys()
        self._placed |= {i for i, job in fleet.work.items() if job.lane not in self._short}
        return len(self._placed)

    def serves(self, lane: Key, room: int) -> bool:
        """Whether a lane surely may have one more job in flight, with so many free places."""
        return (
            room > 0 if lane not in self._short else self._fleet.in_flight[lane] < max(1, room)
        )


@given(loads, st.integers(2, 12), depths, policies, st.integers(0, 50), st.integers(0, 4))
@example(
    [
        Load(("q", "a"), (500 * MS,), 1, 2 * SECOND),
        Load(("q", "c"), (50 * MS,), 1, 100 * MS),
        Load(("r", "a"), (300 * MS,), 4, 2 * SECOND),
        Load(("q", "b"), (1 * SECOND,), 1, 2 * SECOND),
    ],
    3,
    0,
    {("q", None): Terms(rates=(Rate(1, 100 * MS, 1),))},
    40,
    0,
)
@example(
    [
        Load(("q", "a"), (19_500,), 3, 137_984),
        Load(("q", "c"), (1_001,), 8, 100 * MS),
        Load(("r", "c"), (300 * MS,), 4, 100 * MS + 1),
    ],
    4,
    30,
    {},
    41,
    1,
)
def test_slots_are_kept_from_long_jobs_only(
    lanes: list[Load], slots: int, depth: int, policy: Policy, percent: int, lowest: int
) -> None:
    """Long jobs never take the reserve, and no slot is idle while a job may surely use it.

    One surely may for which there is a place, and the first of a lane that has shown to be
    short. Every other job takes a place, so that of a short lane as many may go as are free.
    """
    kept = min(slots - 1, max(lowest, slots * percent // 100))
    short = ShortSettings(per_10_000=percent * 100, lowest=lowest, shorter_us=300 * MS)
    given = replace(table(policy), settings=FairSettings(short=short))
    fleet = Fleet(slots=slots, depth=depth, table=given)
    watched = Watch(fleet, policy)
    wrong: list[str] = []
    reserve = Reserve(fleet, short.shorter_us)

    def observe() -> None:
        watched.look()
        long = sum(job.cost_us >= short.shorter_us for job in fleet.work.values())
        if kept and long > slots - kept:
            wrong.append(f"{long} long jobs at {fleet.now_us}")
        room = slots - kept - reserve.placed()
        open_to = [lane for lane in fleet.waiting if watched.may_go(lane)]
        free = [lane for lane in open_to if not kept or reserve.serves(lane, room)]
        if len(fleet.running) < slots and free:
            wrong.append(f"a slot is idle beside {free[0]} at {fleet.now_us}")

    fleet.observe = observe
    alike = [
        replace(load, costs_us=load.costs_us[:1], hint_us=load.costs_us[0]) for load in lanes
    ]
    arrive(fleet, alike, until_us=3 * SECOND)

    fleet.run(4 * SECOND)

    assert [] == wrong


def with_rates_of(first: Policy, other: Policy) -> Policy:
    """Return the weights and limits of the other policy with the rates of the first."""
    return {
        owner: replace(other.get(owner, Terms()), rates=first.get(owner, Terms()).rates)
        for owner in OWNERS
    }


@given(loads, slot_counts, depths, edits)
def test_virtual_time_never_goes_back_whatever_is_held_back(
    lanes: list[Load], slots: int, depth: int, edited: list[Policy]
) -> None:
    """Becoming eligible again, or another weight, moves it no further back than a claim."""
    fleet = Fleet(slots=slots, depth=depth, table=table(edited[0]))
    times: list[int] = []
    fleet.observe = lambda: times.append(fleet.pool.orders[0].virtual_time)
    arrive(fleet, lanes, until_us=3 * SECOND)
    for policy in edited:
        fleet.order.apply(table(policy), fleet.now_us)
        fleet.run(fleet.now_us + SECOND)

    assert sorted(times) == times


@given(loads, slot_counts, depths, policies, st.lists(weights, min_size=3, max_size=3))
def test_tenants_that_nothing_holds_back_differ_by_no_more_than_the_bound(
    lanes: list[Load], slots: int, depth: int, held: Policy, shares: list[float]
) -> None:
    """Lanes that are blocked and released do not disturb the shares of the others."""
    free: dict[Key, float] = {("free", f"t{n}"): share for n, share in enumerate(shares)}
    terms = held | {lane: Terms(weight=share) for lane, share in free.items()}
    fleet = Fleet(slots=slots, depth=depth, table=table(terms))
    flood(fleet, [Load(lane, (50 * MS, 400 * MS), 1, 1, None) for lane in free], jobs=400)
    arrive(fleet, lanes, until_us=3 * SECOND)
    spread = watch(fleet, free)

    fleet.run(5 * SECOND)

    for one, other in combinations(free, 2):
        assert spread(one, other) <= bound(fleet, free, one, other)


@given(
    slot_counts,
    depths,
    st.lists(st.tuples(long_costs, weights, weights), min_size=2, max_size=4),
    st.sampled_from(("queues", "tenants")),
)
def test_after_an_edit_the_shares_follow_the_new_weights(
    slots: int, depth: int, lanes: list[tuple[int, float, float]], level: str
) -> None:
    """From the moment of the edit the bound holds with the new weights."""
    names = [
        (f"q{n}", "only") if level == "queues" else ("q", f"t{n}") for n in range(len(lanes))
    ]
    owners: list[Owner] = [
        (queue, None) if level == "queues" else (queue, t) for queue, t in names
    ]
    before = {owner: Terms(weight=w) for owner, (_, w, _) in zip(owners, lanes, strict=True)}
    after = {owner: Terms(weight=w) for owner, (_, _, w) in zip(owners, lanes, strict=True)}
    fleet = Fleet(slots=slots, depth=depth, table=table(before))
    for lane, (cost_us, _, _) in zip(names, lanes, strict=True):
        flood(
            fleet, [Load(lane, (cost_us,), 1, 1, None)], jobs=2 * slots * SECOND // cost_us + 40
        )
    fleet.run(SECOND // 2)
    fleet.order.apply(table(after), fleet.now_us)
    shares = dict(zip(names, (w for _, _, w in lanes), strict=True))
    spread = watch(fleet, shares)

    fleet.run(3 * SECOND)

    for one, other in combinations(shares, 2):
        assert spread(one, other) <= bound(fleet, shares, one, other)
