"""Properties of the slots that are reserved for short jobs, on an in-memory fleet."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.policy.compiled import CompiledPolicy
from tests.support.fleet import Fleet, Key
from tests.support.loads import Load, arrive, happen

MS, SECOND = 1000, 1_000_000
LONGER_US, SLOTS_LEAST = 2 * SECOND, 4
"""The defaults: from which run time on a job is long, and in which pools slots are kept."""
LANES: tuple[Key, ...] = tuple((queue, tenant) for queue in "qr" for tenant in "abcdef")

hints = st.none() | st.sampled_from((MS, 100 * MS, LONGER_US, 60 * SECOND))
short_costs = st.integers(1 * MS, 1900 * MS)
long_costs = st.integers(LONGER_US, 6 * SECOND)
events = st.lists(st.sampled_from(("", "", "return", "recall", "fail over")), max_size=20)


def loads(costs: st.SearchStrategy[int]) -> st.SearchStrategy[list[Load]]:
    """Return loads of some lanes, with hints that may be lies."""
    return st.lists(
        st.builds(
            Load,
            st.sampled_from(LANES),
            st.lists(costs, min_size=1, max_size=3).map(tuple),
            st.integers(1, 12),
            st.integers(300 * MS, 4 * SECOND),
            hints,
        ),
        min_size=1,
        max_size=8,
    )


@given(loads(long_costs), st.integers(SLOTS_LEAST, 40), st.sampled_from((0, 8)))
def test_lanes_that_were_never_short_leave_half_of_the_reserve(
    lanes: list[Load], slots: int, depth: int
) -> None:
    """Whatever their hints claim, and however many lanes they are."""
    kept = max(1, slots // 10)
    fleet = Fleet(slots=slots, depth=depth, table=CompiledPolicy())
    most = 0

    def observe() -> None:
        nonlocal most
        most = max(most, len(fleet.work))

    fleet.observe = observe
    arrive(fleet, lanes, until_us=6 * SECOND)

    fleet.run(12 * SECOND)

    assert most <= slots - kept // 2


@given(loads(st.one_of(short_costs, long_costs)), st.integers(1, 24), events)
def test_every_job_runs_and_some_slot_is_busy_while_any_waits(
    lanes: list[Load], slots: int, happening: list[str]
) -> None:
    """No lane is forgotten among those that wait, whatever happens meanwhile."""
    fleet = Fleet(slots=slots, depth=8, table=CompiledPolicy())
    arrive(fleet, lanes, until_us=3 * SECOND)
    for what in happening:
        fleet.run(fleet.now_us + 200 * MS)
        happen(fleet, what)
    idle: list[int] = []

    def observe() -> None:
        if fleet.waiting and not fleet.running:
            idle.append(fleet.now_us)

    fleet.run(max(fleet.now_us + SECOND, 3 * SECOND + 100 * MS))
    fleet.observe = observe
    jobs_us = sum(job.cost_us for job in fleet.jobs.values())
    fleet.run(fleet.now_us + 3 * SECOND + jobs_us)

    assert ([], 0) == (idle, len(fleet.pending) + len(fleet.work))


@given(loads(long_costs), st.integers(20, 40))
def test_a_known_lane_of_short_jobs_waits_for_no_long_job(
    lanes: list[Load], slots: int
) -> None:
    """Its next job starts at once, one at a time, while others want all slots."""
    fleet = Fleet(slots=slots, depth=8, table=CompiledPolicy())
    for at_us in range(0, 8 * SECOND, 500 * MS):
        fleet.arrive(at_us, "q", "quiet", 50 * MS)
    for load in lanes:
        for number in range(3 * load.batch):
            cost_us = load.costs_us[number % len(load.costs_us)]
            fleet.arrive(100 * MS, *load.lane, cost_us, hint_us=load.hint_us)

    fleet.run(9 * SECOND)

    quiet = [job for job in fleet.jobs.values() if job.tenant == "quiet"]
    claims_us = [fleet.now_us if job.claimed_us is None else job.claimed_us for job in quiet]
    waits_us = [at_us - job.arrived_us for at_us, job in zip(claims_us, quiet, strict=True)]
    assert max(waits_us) <= 3 * fleet.tick_us
