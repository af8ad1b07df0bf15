"""Properties of the fair order, on an in-memory fleet of slots."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead_scheduler.ordering.plan import Plan
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.crashing import run_with_crashes
from tests.support.fleet import Fleet, Job, Key
from tests.support.loads import Load, arrive, bound, flood, happen, watch
from tests.support.tables import Weights, weighing

MS = 1000
TURN_US = FairSettings().turn_us
SECOND = 1_000_000

costs = st.integers(min_value=1 * MS, max_value=2 * SECOND)
slot_counts = st.integers(1, 12)
depths = st.sampled_from((0, 4, 30))
events = st.lists(st.sampled_from(("", "return", "recall", "fail over", "sweep")), max_size=40)


@st.composite
def loads(draw: st.DrawFn, *, lanes_max: int = 5) -> tuple[Load, ...]:
    """Draw lanes in up to three queues."""
    count = draw(st.integers(min_value=2, max_value=lanes_max))
    return tuple(
        Load(
            lane=(f"q{draw(st.integers(0, 2))}", f"t{number}"),
            costs_us=tuple(draw(st.lists(costs, min_size=1, max_size=4))),
            batch=draw(st.integers(1, 20)),
            every_us=draw(st.integers(20 * MS, 2 * SECOND)),
            weight=draw(st.sampled_from((1.0, 1.0, 2.0, 4.0))),
            hint_us=draw(st.none() | costs),
        )
        for number in range(count)
    )


@given(loads(), slot_counts, depths)
def test_backlogged_tenants_of_a_queue_differ_by_no_more_than_the_bound(
    lanes: tuple[Load, ...], slots: int, depth: int
) -> None:
    """|W_f/w_f - W_g/w_g| <= (1+L_f) c_f/w_f + (1+L_g) c_g/w_g on any interval."""
    weights = {("q", load.lane[1]): load.weight for load in lanes}
    fleet = Fleet(slots=slots, depth=depth, table=weighing(dict(weights.items())))
    flood(fleet, in_one_queue(lanes), jobs=300)
    spread = watch(fleet, weights)

    fleet.run(6 * SECOND)

    for one, other in combinations(weights, 2):
        assert spread(one, other) <= bound(fleet, weights, one, other)


@given(st.lists(st.integers(60 * MS, 200 * MS), min_size=2, max_size=4), slot_counts, depths)
def test_the_bound_holds_when_every_attempt_of_a_tenant_crashes_once(
    costs_us: list[int], slots: int, depth: int
) -> None:
    """A tenant pays for the slots of its crashed attempts: they are part of a job's cost."""
    weights: dict[Key, float] = {("q", f"t{number}"): 1.0 for number in range(len(costs_us))}
    fleet = Fleet(slots=slots, depth=depth)
    for (queue, tenant), cost_us in zip(weights, costs_us, strict=True):
        for _ in range(800):  # more than a tenant can use of 12 slots, half of them for 60 ms
            fleet.arrive(0, queue, tenant, cost_us)
    spread = watch(fleet, weights)

    crashed = run_with_crashes(fleet, "t0", 6 * SECOND)

    fleet.cost_max_us["q", "t0"] += max(crashed.values())
    for one, other in combinations(weights, 2):
        assert spread(one, other) <= bound(fleet, weights, one, other)


@given(loads(), slot_counts, depths)
def test_backlogged_queues_differ_by_no_more_than_the_bound(
    lanes: tuple[Load, ...], slots: int, depth: int
) -> None:
    """V is kept per (pool, band) between queues: the bound holds there as well."""
    queues = {(load.lane[1], "only"): load.weight for load in lanes}
    weights: Weights = {(queue, None): weight for (queue, _), weight in queues.items()}
    fleet = Fleet(slots=slots, depth=depth, table=weighing(weights))
    flood(fleet, [replace(load, lane=(load.lane[1], "only")) for load in lanes], jobs=300)
    spread = watch(fleet, queues)

    fleet.run(6 * SECOND)

    for one, other in combinations(queues, 2):
        assert spread(one, other) <= bound(fleet, queues, one, other)


@given(loads(), slot_counts, depths)
def test_no_slot_is_free_while_a_job_could_run(
    lanes: tuple[Load, ...], slots: int, depth: int
) -> None:
    """Work conservation: a slot is idle only if no eligible pending job exists."""
    fleet = Fleet(slots=slots, depth=depth)
    wasted: list[int] = []

    def observe() -> None:
        if len(fleet.running) < fleet.slots and any(fleet.eligible()):
            wasted.append(fleet.now_us)

    fleet.observe = observe
    arrive(fleet, lanes, until_us=4 * SECOND)

    fleet.run(6 * SECOND)

    assert [] == wasted


@given(loads(), slot_counts, depths)
def test_virtual_time_never_goes_back(lanes: tuple[Load, ...], slots: int, depth: int) -> None:
    """Whatever is claimed and refunded."""
    fleet = Fleet(slots=slots, depth=depth)
    times: list[int] = []
    fleet.observe = lambda: times.append(fleet.pool.orders[0].virtual_time)
    arrive(fleet, lanes, until_us=4 * SECOND)

    fleet.run(6 * SECOND)

    assert sorted(times) == times


@given(loads(), slot_counts, depths, st.integers(0, 3 * SECOND))
@example(
    (Load(("q", "a"), (1_913,), 1, 20 * MS), Load(("q", "b"), (1 * MS, 520 * MS), 1, 20 * MS)),
    5,
    4,
    501 * MS,
)
def test_a_quiet_lane_waits_for_one_turn_of_each_other_lane_at_most(
    lanes: tuple[Load, ...], slots: int, depth: int, at_us: int
) -> None:
    """It has tag V, so its job goes before any other lane's second turn that is unclaimed."""
    fleet = Fleet(slots=slots, depth=depth)
    flood(fleet, in_one_queue(lanes), jobs=300)
    fleet.run(at_us)
    fleet.arrive(fleet.now_us, "q", "quiet", 10 * MS)

    fleet.tick()

    quiet = fleet.jobs[len(fleet.jobs)]
    unclaimed = [job for job in fleet.work.values() if job.claimed_us is None]
    claimed_before = [job for job in unclaimed if (job.vtag, job.id) < (quiet.vtag, quiet.id)]
    if quiet.id not in fleet.work:
        assert fleet.full or all_in_one_turn(unclaimed, slots)
    elif quiet.claimed_us is None:
        assert all_in_one_turn(claimed_before, slots)


@given(loads(), slot_counts, depths, st.sets(st.integers(1, 100)), events)
def test_every_job_is_dispatched_once_for_each_time_that_it_is_pending(
    lanes: tuple[Load, ...], slots: int, depth: int, refused: set[int], happens: list[str]
) -> None:
    """Planned jobs are the offered ones minus the refused ones, whatever happens in between."""
    fleet = Fleet(slots=slots, depth=depth)
    undecided = set(refused)

    def refuse(job_id: int) -> bool:
        asked = job_id in undecided
        undecided.discard(job_id)
        return asked

    fleet.refuse = refuse
    for load in lanes:
        few = replace(load, costs_us=(20 * MS,), batch=load.batch % 5 + 1)
        seldom = replace(few, every_us=load.every_us + 250 * MS)
        arrive(fleet, [seldom], until_us=1 * SECOND)
    offered = Counter[int]()
    while fleet.now_us < 1 * SECOND or fleet.pending or fleet.work:
        offered.update(happen(fleet, happens.pop() if happens else ""))
        fleet.tick()
        fleet.advance(fleet.now_us + fleet.tick_us)

    offered.update(fleet.jobs.keys())
    assert offered == fleet.dispatched
    assert sorted(fleet.jobs) == sorted(job.id for job in fleet.ended)


@given(loads(), slot_counts, depths)
def test_the_floor_is_below_every_unclaimed_row(
    lanes: tuple[Load, ...], slots: int, depth: int
) -> None:
    """The floor is never above a tag that the plan inserts, nor above a waiting one."""
    fleet = Fleet(slots=slots, depth=depth)
    above: list[tuple[int, Plan]] = []

    def observe() -> None:
        plan = fleet.plans[-1]
        tags = [vtag for _, vtag, *_ in plan.rows]
        tags += [job.vtag for job in fleet.work.values() if job.claimed_us is None]
        if min(tags, default=plan.floor) < plan.floor:
            above.append((min(tags), plan))
        if fleet.running and len(fleet.plans) % 3 == 0:
            fleet.give_back(fleet.running[0][1])

    fleet.observe = observe
    arrive(fleet, lanes, until_us=2 * SECOND)

    fleet.run(3 * SECOND)

    assert [] == above


@given(loads(), slot_counts, depths)
def test_the_same_events_make_the_same_plans(
    lanes: tuple[Load, ...], slots: int, depth: int
) -> None:
    """Decisions take values and return values: no clock, no random."""
    plans: list[list[Plan]] = []
    for _ in range(2):
        fleet = Fleet(slots=slots, depth=depth)
        arrive(fleet, lanes, until_us=2 * SECOND)
        fleet.run(3 * SECOND)
        plans.append(fleet.plans)

    assert plans[0] == plans[1]


@given(loads(), slot_counts, depths)
def test_the_books_agree_with_a_full_read(
    lanes: tuple[Load, ...], slots: int, depth: int
) -> None:
    """A full read of work_queue corrects drift; while every event is delivered none occurs."""
    fleet = Fleet(slots=slots, depth=depth)
    wrong: list[int] = []

    def observe() -> None:
        if len(fleet.plans) % 5 == 0:
            fleet.learn()
            fleet.order.begin_reconcile()
            wrong.append(fleet.order.reconcile(fleet.read(), fleet.now_us, fleet.heads))

    fleet.observe = observe
    arrive(fleet, lanes, until_us=2 * SECOND)

    fleet.run(3 * SECOND)

    assert 0 == sum(wrong)


@given(loads(), slot_counts, st.integers(0, 20), events)
def test_the_books_know_how_much_work_has_no_slot(
    lanes: tuple[Load, ...], slots: int, ahead: int, happens: list[str]
) -> None:
    """Whatever is claimed ahead, handed back, recalled or adopted."""
    fleet = Fleet(slots=slots, depth=4)
    fleet.ahead = ahead
    known: list[tuple[int, int]] = []

    def observe() -> None:
        (ledger,) = fleet.pool.ledgers
        jobs = ledger.in_flight_jobs.values()
        waiting_us = sum(job.queue_charged_us for job in jobs if job.claimed_us < 0)
        known.append((waiting_us, ledger.waiting_us))

    fleet.observe = observe
    arrive(fleet, lanes, until_us=1 * SECOND)
    while fleet.now_us < 1 * SECOND:
        happen(fleet, happens.pop() if happens else "")
        fleet.tick()
        fleet.advance(fleet.now_us + fleet.tick_us)

    assert all(right_us == waiting_us for right_us, waiting_us in known)


def in_one_queue(lanes: Iterable[Load]) -> list[Load]:
    """Return the loads as of tenants of one queue."""
    return [replace(load, lane=("q", load.lane[1])) for load in lanes]


def all_in_one_turn(jobs: list[Job], slots: int) -> bool:
    """Return whether each lane has one job among these, or several that are short enough."""
    expected_us: dict[Key, list[int]] = {}
    for job in sorted(jobs, key=lambda job: (job.vtag, job.id)):
        expected_us.setdefault(job.lane, []).append(job.estimate_us)
    return all(sum(each[:-1]) < slots * TURN_US for each in expected_us.values())
