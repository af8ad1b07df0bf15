"""Properties of strict bands and ageing, on an in-memory fleet of slots."""

from dataclasses import replace
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead_scheduler.policy.compiled import Bands, CompiledPolicy, Terms
from tests.support.fleet import Fleet, Key
from tests.support.loads import Load, arrive, bound, happen, watch
from tests.support.tables import table

MS = 1000
SECOND = 1_000_000
WAITS_US = (0, 600 * MS, 900 * MS)
BANDS = Bands(names=("a", "b", "c"), waits_us=WAITS_US, ranks=((0, 0, 0), (1, 1, 1)))
Owner = tuple[str, str | None]

QUEUES, TENANTS = ("q", "r"), ("s", "t")
OWNERS: tuple[Owner, ...] = (
    *((queue, tenant) for queue in QUEUES for tenant in TENANTS),
    *((queue, None) for queue in QUEUES),
)
limits = st.dictionaries(
    st.sampled_from(OWNERS), st.builds(Terms, limit=st.integers(1, 6)), max_size=len(OWNERS)
)


loads = st.lists(
    st.builds(
        Load,
        st.tuples(st.sampled_from(QUEUES), st.sampled_from(TENANTS)),
        st.tuples(st.integers(1 * MS, 500 * MS)),
        st.integers(1, 12),
        st.integers(100 * MS, 1 * SECOND),
        rank=st.integers(0, 2),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda load: (load.lane, load.rank),
)
slot_counts = st.integers(1, 10)
depths = st.sampled_from((0, 4, 20))
events = st.lists(st.sampled_from(("", "return", "recall", "fail over", "sweep")), max_size=20)


def banded(terms: dict[Owner, Terms] | None = None, bands: Bands = BANDS) -> CompiledPolicy:
    """Return a table with bands by rank."""
    return replace(table(terms or {}), bands=bands)


def in_flight(fleet: Fleet, owner: Owner) -> int:
    """Return how many rows of `work_queue` a tenant or a queue has, in all bands."""
    rows = fleet.work.values()
    return sum(job.queue == owner[0] and owner[1] in (None, job.tenant) for job in rows)


@given(loads, slot_counts, depths, limits, events)
def test_limits_hold_over_all_bands_and_no_slot_is_idle_beside_work(
    given_loads: list[Load],
    slots: int,
    depth: int,
    terms: dict[Owner, Terms],
    happens: list[str],
) -> None:
    """With crashes, recalls and new leaders in between.

    A leader that has offered a finished job finds that out, and offers others a tick later.
    """
    fleet = Fleet(slots=slots, depth=depth, table=banded(terms))
    wrong: list[str] = []
    left = {owner: each.limit or 0 for owner, each in terms.items()}

    def may_go(lane: Key) -> bool:
        owners: tuple[Owner, ...] = (lane, (lane[0], None))
        return all(in_flight(fleet, each) < left.get(each, 1 << 30) for each in owners)

    def observe() -> None:
        wrong.extend(f"{o} over {n}" for o, n in left.items() if in_flight(fleet, o) > n)
        taken = all(job_id in fleet.work for job_id, *_ in fleet.plans[-1].rows)
        if taken and len(fleet.running) < slots and any(map(may_go, fleet.waiting)):
            wrong.append(f"a slot is idle at {fleet.now_us}")

    arrive(fleet, given_loads, until_us=2 * SECOND)
    fleet.observe = observe
    while fleet.now_us < 3 * SECOND:
        happen(fleet, happens.pop() if happens else "")
        fleet.run(fleet.now_us + fleet.tick_us)

    assert [] == wrong
    assert fleet.dispatched.keys() <= fleet.jobs.keys()


@given(loads, slot_counts, depths)
@example(
    [
        Load(("q", "s"), (1_000,), 1, 166_667, rank=0),
        Load(("q", "s"), (1_000,), 3, 160_001, rank=1),
        Load(("q", "s"), (60_001,), 3, 100_000, rank=2),
        Load(("q", "t"), (1_000,), 1, 100_000, rank=0),
        Load(("r", "s"), (20_001,), 3, 490_001, rank=1),
        Load(("q", "t"), (1_000,), 2, 100_001, rank=1),
    ],
    3,
    0,
)
def test_a_claim_takes_the_highest_band_that_has_work(
    given_loads: list[Load], slots: int, depth: int
) -> None:
    """Strict: no job runs from a band while a band above has a job that waited for a tick."""
    forever = replace(BANDS, waits_us=(0, 1 << 60, 1 << 60))
    fleet = Fleet(slots=slots, depth=depth, table=banded(bands=forever))
    wrong: list[tuple[int, int]] = []

    def observe() -> None:
        planned = [fleet.jobs[job_id] for job_id, *_ in fleet.plans[-1].rows]
        lowest = max((job.band for job in planned), default=0)
        above = [job for job in fleet.pending.values() if job.rank < lowest]
        wrong.extend((lowest, job.id) for job in above)

    fleet.observe = observe
    arrive(fleet, given_loads, until_us=2 * SECOND)

    fleet.run(3 * SECOND)

    assert [] == wrong


@given(
    st.integers(2, 10),
    depths,
    st.integers(20 * MS, 400 * MS),
    st.integers(1, 3),
    st.sampled_from((1, 2)),
    st.integers(0, 1),
)
def test_no_band_starves(
    slots: int, depth: int, cost_us: int, floods: int, rank: int, dispatched: int
) -> None:
    """A tenant with few jobs in a low band waits at most for the bands' waits and some jobs."""
    fleet = Fleet(slots=slots, depth=depth, table=banded())
    begin_us = 100 * MS if dispatched else 0
    for flood in range(floods):
        for number in range(slots * 4 * SECOND // (floods * cost_us) + 50):
            fleet.arrive(begin_us + number // 400, f"f{flood}", "flood", cost_us, rank=0)
    if dispatched:
        for _ in range(slots + depth):
            fleet.arrive(0, "z", "first", 150 * MS, rank=2)
    for number in range(4):
        fleet.arrive(number * 700 * MS, "q", "quiet", MS, rank=rank)

    fleet.run(3 * SECOND)

    limit_us = sum(WAITS_US[1 : rank + 1])
    tied_us = (2 + floods) * max(cost_us, 150 * MS) + 8 * fleet.tick_us
    waits = [
        (fleet.now_us if job.claimed_us is None else job.claimed_us) - job.arrived_us
        for job in fleet.jobs.values()
        if job.tenant == "quiet" and job.arrived_us + limit_us + tied_us < fleet.now_us
    ]
    assert max(waits, default=0) <= limit_us + tied_us


@given(
    st.lists(st.integers(25 * MS, 1 * SECOND), min_size=2, max_size=4),
    loads,
    slot_counts,
    depths,
    st.integers(0, 2),
)
def test_the_bound_holds_in_each_band(
    costs: list[int], others: list[Load], slots: int, depth: int, rank: int
) -> None:
    """|W_f/w_f - W_g/w_g| of two lanes of a band, whatever those above and below it have."""
    forever = replace(BANDS, waits_us=(0, 1 << 60, 1 << 60))
    fleet = Fleet(slots=slots, depth=depth, table=banded(bands=forever))
    lanes: dict[Key, int] = {("free", f"t{n}"): cost_us for n, cost_us in enumerate(costs)}
    for (queue, tenant), cost_us in lanes.items():
        for _ in range(4 * slots * SECOND // cost_us + 40):
            fleet.arrive(0, queue, tenant, cost_us, rank=rank)
    arrive(fleet, others, until_us=2 * SECOND)
    weights = dict.fromkeys(lanes, 1.0)
    spread = watch(fleet, weights)

    fleet.run(3 * SECOND)

    for one, other in combinations(lanes, 2):
        assert spread(one, other) <= bound(fleet, weights, one, other)
