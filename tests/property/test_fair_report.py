"""Properties of the fairness report: on any amounts, and on a fleet in memory."""

from math import inf, isclose

from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.report.builder import ReportBuilder
from fairlead_scheduler.report.maxmin import jain_index, max_min_shares
from fairlead_scheduler.report.snapshot import LedgerSnapshot, take_snapshot
from fairlead_scheduler.report.values import FairnessReport
from tests.support.fleet import Fleet, Key
from tests.support.tables import weighing

SECOND = 1_000_000
weights = st.floats(0.01, 100)
wishes = st.lists(st.tuples(st.floats(0, 1e9) | st.just(inf), weights), max_size=30)


@given(st.floats(0, 1e9), wishes)
def test_no_lane_gets_more_than_it_wants_and_no_wanted_slot_is_left(
    amount: float, members: list[tuple[float, float]]
) -> None:
    """What is shared adds up to what there is, or to what is wanted."""
    wanted = [want for want, _ in members]

    found = max_min_shares(amount, wanted, [weight for _, weight in members])

    assert all(got <= want for got, want in zip(found, wanted, strict=True))
    assert isclose(min(amount, sum(wanted)), sum(found), rel_tol=1e-6, abs_tol=1e-3)


@given(st.floats(0, 1e9), wishes)
def test_who_gets_less_than_it_wants_has_no_less_for_its_weight_than_anybody(
    amount: float, members: list[tuple[float, float]]
) -> None:
    """Weighted max-min fairness."""
    found = max_min_shares(
        amount, [want for want, _ in members], [weight for _, weight in members]
    )

    levels = [got / weight for got, (_, weight) in zip(found, members, strict=True)]
    most = max(levels, default=0.0)
    for level, got, (want, _) in zip(levels, found, members, strict=True):
        assert got == want or isclose(level, most, rel_tol=1e-6, abs_tol=1e-6)


@given(st.lists(st.floats(0, 1e6), max_size=30))
def test_jains_index_lies_between_one_part_and_one(values: list[float]) -> None:
    """In (0, 1], and 1/n at least."""
    found = jain_index(values)

    assert found is None or 1 / len(values) - 1e-9 <= found <= 1 + 1e-9


@given(st.lists(weights, min_size=2, max_size=30), st.floats(1, 1e6))
def test_jains_index_is_one_for_service_in_proportion(
    shares: list[float], amount: float
) -> None:
    """Every lane had its share by weight."""
    had = [amount * share for share in shares]
    due = max_min_shares(sum(had), [inf] * len(shares), shares)

    assert isclose(
        1.0, jain_index([got / part for got, part in zip(had, due, strict=True)]) or 0.0
    )


def reported(fleet: Fleet, *, seconds: int) -> FairnessReport:
    """Let a fleet run for so long, and return the report on all of it."""
    reporter = ReportBuilder(5 * SECOND)
    found: list[FairnessReport] = []

    def take() -> LedgerSnapshot:
        free = fleet.slots - len(fleet.running)
        return take_snapshot(fleet.order.ledgers, fleet.now_us, slots=fleet.slots, free=free)

    def observe() -> None:
        report = reporter.step(fleet.now_us, take)
        if report is not None:
            found.append(report)

    fleet.observe = observe
    fleet.run(seconds * SECOND)
    return found[-1]


loads = st.lists(
    st.tuples(
        st.sampled_from(("q", "r")),
        st.sampled_from((0.5, 1.0, 3.0)),
        st.integers(10_000, 400_000),
        st.integers(0, 400),
    ),
    min_size=2,
    max_size=6,
)


@given(loads, st.integers(1, 8))
def test_a_report_tells_what_a_fleet_did(
    load: list[tuple[str, float, int, int]], slots: int
) -> None:
    """Service is what was had, shares add up to 1, lags to 0, and Jain's index is in (0, 1]."""
    keys: dict[Key, float] = {
        (queue, f"t{number}"): weight for number, (queue, weight, _, _) in enumerate(load)
    }
    fleet = Fleet(slots=slots, depth=4, table=weighing(dict(keys.items())))
    for key, (_, _, cost_us, jobs) in zip(keys, load, strict=True):
        for _ in range(jobs):
            fleet.arrive(0, *key, cost_us)

    report = reported(fleet, seconds=21)

    span = (report.at_us - report.since_us) / 1e6
    rows = [each.received for each in report.tenants]
    assert report.slot_seconds <= (span + 0.05) * slots
    if rows and report.slot_seconds:
        assert isclose(1.0, sum(row.share for row in rows))
        assert isclose(1.0, sum(row.entitled_share for row in rows))
    assert isclose(0.0, sum(row.lag_slot_seconds for row in rows), abs_tol=1e-3)
    assert report.jain is None or 0 < report.jain <= 1 + 1e-9


@given(st.lists(st.sampled_from((0.5, 1.0, 2.0)), min_size=2, max_size=5), st.integers(2, 8))
def test_backlogged_tenants_of_the_fair_order_are_even(shares: list[float], slots: int) -> None:
    """Whatever their jobs cost, each is within 5 % of what it is entitled to."""
    keys: dict[Key, float] = {("q", f"t{number}"): w for number, w in enumerate(shares)}
    fleet = Fleet(slots=slots, depth=4, table=weighing(dict(keys.items())))
    for number, key in enumerate(keys):
        for _ in range(2500):
            fleet.arrive(0, *key, 40_000 * (1 + number))

    report = reported(fleet, seconds=11)

    assert len(shares) == report.jain_tenants
    assert (report.jain or 0.0) > 0.99
    for row in report.tenants:
        assert abs(row.received.share - row.received.entitled_share) < 0.05
