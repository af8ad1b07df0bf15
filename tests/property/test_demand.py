"""What a pool is said to need holds to the policy, whatever waits and runs."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.demand.count import CountResult, DemandCount, PoolMaximum
from fairlead_scheduler.policy.compiled import Terms
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fair_bench import Bench
from tests.support.tables import table

SECOND_US = 1_000_000
TERMS = st.builds(
    Terms,
    limit=st.none() | st.integers(1, 6),
    limit_per_10_000=st.none() | st.integers(1, 10_000),
    rates=st.lists(
        st.builds(
            Rate, st.integers(1, 5), st.sampled_from([SECOND_US, 7_000_000]), st.integers(1, 6)
        ),
        max_size=1,
    ).map(tuple),
    blocking_rule=st.sampled_from([None, None, None, "rules[0]"]),
)
NAMES = st.sampled_from([("q", None), ("q", "a"), ("q", "b"), ("r", None), ("r", "a")])
LANES = ("q/a", "q/b", "r/a", "r/c")


def counted(bench: Bench, most: PoolMaximum, *, step_us: int = 1 << 30) -> CountResult:
    """Count a pool in steps of about this length."""
    count = DemandCount(bench.order.ledgers, most, now_us=bench.now_us, begun_us=0)
    while (needed := count.step(step_us)) is None:
        pass
    return needed


@given(
    terms=st.dictionaries(NAMES, TERMS, max_size=4),
    jobs=st.lists(st.tuples(st.sampled_from(LANES), st.integers(1, 90_000)), max_size=40),
    slots=st.integers(0, 12),
    claims=st.integers(0, 12),
    most=st.integers(1, 30),
    horizon=st.integers(1, 60),
)
def test_a_pool_never_needs_more_than_the_policy_and_its_maximum_allow(
    terms: dict[tuple[str, str | None], Terms],
    jobs: list[tuple[str, int]],
    slots: int,
    claims: int,
    most: int,
    horizon: int,
) -> None:
    """Useful <= allowed <= maximum, and no more than there are jobs; what runs is useful."""
    bench = Bench(table(terms))
    for lane, cost_ms in jobs:
        bench.add(lane, cost_ms)
    planned = bench.plan(slots, slots=slots)
    running = [job.id for job in planned[:claims]]
    bench.order.claimed(running, bench.now_us)
    size = PoolMaximum(most, horizon * SECOND_US)

    needed = counted(bench, size)

    assert min(len(running), most) <= needed.slots_useful <= needed.slots_allowed <= most
    assert needed.slots_useful <= len(jobs)
    assert needed.jobs <= len(jobs) - len(running)
    assert (needed.work_us > 0) == needed.has_work == (needed.oldest_us is not None)
    longest_us = max([FairSettings().prior_us, *(cost_ms * 1000 for _, cost_ms in jobs)])
    assert needed.work_us <= needed.jobs * longest_us
    assert needed == counted(bench, size, step_us=1)


@given(
    limit=st.integers(1, 8),
    counts=st.lists(st.integers(0, 12), min_size=1, max_size=4),
    most=st.integers(1, 30),
)
def test_limits_bound_what_could_be_useful(limit: int, counts: list[int], most: int) -> None:
    """Each tenant's limit and the maximum, and nothing else, where nothing runs."""
    lanes = [("q", f"t{place}") for place in range(len(counts))]
    bench = Bench(table({lane: Terms(limit=limit) for lane in lanes}))
    for (queue, tenant), count in zip(lanes, counts, strict=True):
        bench.add(f"{queue}/{tenant}", *[100] * count)
    bench.plan(0, slots=0)

    needed = counted(bench, PoolMaximum(most, 30 * SECOND_US))

    assert min(most, sum(min(limit, count) for count in counts)) == needed.slots_useful
