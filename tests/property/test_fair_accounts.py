"""Properties of accounts, on an in-memory fleet of slots: tenants in queues without a name."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead_scheduler.policy.compiled import CompiledPolicy, QueueTerms
from fairlead_scheduler.policy.first_match import FirstMatch
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fleet import Fleet
from tests.support.loads import Load, arrive, flood, happen

MS = 1000
SECOND = 1_000_000
TENANTS, QUEUES = ("a", "b", "c"), ("q", "r", "s", "t")

costs = st.integers(min_value=5 * MS, max_value=1 * SECOND)
slot_counts = st.integers(1, 12)
depths = st.sampled_from((0, 4, 30))
names = st.frozensets(st.sampled_from(QUEUES))
events = st.lists(st.sampled_from(("", "return", "recall", "fail over", "sweep")), max_size=30)
loads = st.lists(
    st.builds(
        Load,
        st.tuples(st.sampled_from(QUEUES), st.sampled_from(TENANTS)),
        st.lists(costs, min_size=1, max_size=4).map(tuple),
        st.integers(1, 20),
        st.integers(100 * MS, 2 * SECOND),
        st.none() | costs,
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda load: load.lane,
)


def naming(queues: frozenset[str]) -> CompiledPolicy:
    """Return a policy that names these queues."""
    return CompiledPolicy(
        queues=FirstMatch([(queues, QueueTerms())]),
        settings=FairSettings(short=None),
        digest=" ".join(sorted(queues)) or "none",
    )


def watch(fleet: Fleet, lanes: Sequence[Load]) -> dict[str, list[int]]:
    """Record what each tenant has had, every tick while each has work in one of its queues."""
    had: dict[str, list[int]] = {load.lane[1]: [] for load in lanes}

    def observe() -> None:
        waiting = {tenant for _, tenant in fleet.waiting}
        if waiting >= had.keys():
            for tenant, history in had.items():
                mine = [load.lane for load in lanes if load.lane[1] == tenant]
                history.append(sum(map(fleet.service_us, mine)))

    fleet.observe = observe
    return had


@given(loads, slot_counts, depths)
def test_backlogged_tenants_differ_by_no_more_than_the_bound_however_many_queues_they_have(
    lanes: list[Load], slots: int, depth: int
) -> None:
    """The bound of two lanes, of all lanes of two tenants."""
    fleet = Fleet(slots=slots, depth=depth, table=naming(frozenset()))
    flood(fleet, lanes, jobs=200)
    had = watch(fleet, lanes)

    fleet.run(5 * SECOND)

    turns_us = dict.fromkeys(had, 0)
    for tenant in had:
        mine = [load.lane for load in lanes if load.lane[1] == tenant]
        in_flight = sum(fleet.in_flight_max.get(lane, 0) for lane in mine)
        turns_us[tenant] = (1 + in_flight) * max(fleet.cost_max_us[lane] for lane in mine)
    cap_us = max(1, 2 * slots // len(had)) * FairSettings().refresh_us
    for one, other in combinations(had, 2):
        gaps = [x - y for x, y in zip(had[one], had[other], strict=True)]
        spread = max(gaps, default=0) - min(gaps, default=0)
        assert spread <= cap_us + turns_us[one] + turns_us[other]


@given(loads, slot_counts, depths, st.lists(names, min_size=2, max_size=4), events)
@example(
    lanes=[
        Load(("q", "a"), (20 * MS,), 5, 200 * MS),
        Load(("r", "a"), (20 * MS,), 5, 200 * MS),
    ],
    slots=2,
    depth=4,
    edits=[frozenset({"q"}), frozenset(), frozenset({"q", "r"})],
    happens=[],
)
def test_no_slot_is_free_and_every_row_is_counted_while_queues_get_and_lose_names(
    lanes: list[Load],
    slots: int,
    depth: int,
    edits: list[frozenset[str]],
    happens: list[str],
) -> None:
    """An edit moves lanes, jobs in flight and all; what the leader counts is what there is."""
    fleet = Fleet(slots=slots, depth=depth, table=naming(edits[0]))
    arrive(fleet, lanes, until_us=3 * SECOND)
    wasted: list[int] = []

    def observe() -> None:
        if len(fleet.running) < fleet.slots and any(fleet.eligible()):
            wasted.append(fleet.now_us)

    for tick in range(200):
        if tick % 7 == 6:
            fleet.learn()
            fleet.order.apply(naming(edits[tick // 7 % len(edits)]), fleet.now_us)
            fleet.recall(fleet.order.surplus_rows())
        fleet.observe = (lambda: None) if happens[tick : tick + 2] else observe
        happen(fleet, happens[tick] if tick < len(happens) else "")
        fleet.tick()
        fleet.advance(fleet.now_us + fleet.tick_us)
    fleet.learn()

    named = edits[195 // 7 % len(edits)]
    rows = Counter(
        (x.queue if x.queue in named else None, x.tenant) for x in fleet.work.values()
    )
    assert ([], rows) == (wasted, in_flight_by_account(fleet))


def in_flight_by_account(fleet: Fleet) -> Counter[tuple[str | None, str]]:
    """Return the jobs that the leader counts in each account; those of branches add up."""
    counts = Counter[tuple[str | None, str]]()
    for ledger in fleet.order.ledgers:
        for name, branch in ledger.branches.items():
            mine = {(name, tenant): each.in_flight for tenant, each in branch.by_tenant.items()}
            assert branch.in_flight == sum(mine.values())
            counts.update(mine)
    return +counts
