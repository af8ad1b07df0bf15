"""What is said of a played trace, by hand and by properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fairness.contenders.ideal import Point
from bench.fairness.results import metrics
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival, Group

A, B = ("q", "a"), ("q", "b")
amounts = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20)


def job(
    tenant: str,
    *,
    at: int = 0,
    claimed: int | None = None,
    ended: int | None = None,
    group: Group = "quiet",
) -> JobOutcome:
    """Return a job of queue q with what became of it."""
    cost = 1 if claimed is None or ended is None else ended - claimed
    return JobOutcome(Arrival(at, "q", tenant, cost, group), claimed, ended)


def test_a_dwell_ends_with_the_claim_or_with_the_run() -> None:
    """Dwell = claim - runnable; one that still waits has waited until the end."""
    played = [job("a", at=10, claimed=30), job("a", at=40), job("b", claimed=5, group="noisy")]

    assert [20, 60] == metrics.dwells_us(played, "quiet", 100)
    assert 1 == metrics.unserved(played, "quiet", 100)


def test_excess_is_measured_job_by_job() -> None:
    """Excess dwell = dwell - ideal dwell, of the same job."""
    ours = [job("a", claimed=30), job("a", claimed=10)]
    ideal = [job("a", claimed=10), job("a", claimed=20)]

    assert [20, -10] == metrics.excess_us(ours, ideal, "quiet", 100)


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1, 1, 1, 1), 1.0), ((1, 0, 0, 0), 0.25), ((1, 2, 3), 36 / 42), ((0, 0), 1.0)],
)
def test_jains_index_of_known_values(values: tuple[float, ...], expected: float) -> None:
    """(Σx)² / (n Σx²)."""
    assert pytest.approx(expected) == metrics.jain(values)


@given(amounts, st.floats(0.01, 100))
def test_jains_index_heeds_shares_not_amounts(values: list[float], factor: float) -> None:
    """It lies between 1/n and 1, and a common factor changes nothing."""
    index = metrics.jain(values)

    assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9
    assert pytest.approx(index) == metrics.jain([value * factor for value in values])


def test_service_is_counted_between_two_moments() -> None:
    """A job that runs over a bound counts with the part that is inside."""
    played = [
        job("a", claimed=10, ended=30),
        job("a", claimed=40),
        job("b", claimed=0, ended=5),
    ]

    assert {A: 10 + 60, B: 0} == metrics.service_us(played, 20, 100)


def test_a_backlog_lasts_while_any_job_waits() -> None:
    """The longest stretch is returned; a job that is claimed at once makes none."""
    played = [
        job("a", at=0, claimed=10),
        job("a", at=20, claimed=40),
        job("a", at=30, claimed=60),
        job("a", at=70),
        job("b", at=5, claimed=5),
    ]

    assert {A: (20, 60)} == metrics.backlogged(played, 100)


def test_rates_are_over_each_backlog_and_by_weight() -> None:
    """W_i/w_i of tenants that had work waiting for long enough, over that time."""
    played = [
        job("a", claimed=0, ended=50),
        job("a", claimed=50, ended=100),
        job("a"),
        job("b", claimed=0, ended=10),
        job("b", claimed=20, ended=40),
    ]

    assert {A: 0.5} == metrics.rates(played, {A: 2.0}, 100, 100)


def test_the_weight_error_is_the_worst_lanes() -> None:
    """|share / weight's share - 1|, of the lane for which it is largest."""
    assert pytest.approx(0.5) == metrics.weight_error({A: 30.0, B: 30.0}, {A: 1.0, B: 3.0}) / 2
    assert pytest.approx(0.0) == metrics.weight_error({A: 10.0, B: 30.0}, {B: 3.0})


@given(amounts)
def test_service_in_proportion_to_weights_has_no_error(weights: list[float]) -> None:
    """Whatever the weights are."""
    lanes = {("q", str(number)): weight for number, weight in enumerate(weights)}
    served = {lane: 7 * weight for lane, weight in lanes.items()}

    assert metrics.weight_error(served, lanes) < 1e-9


def test_idle_slots_count_only_beside_jobs_that_could_use_them() -> None:
    """Two slots for 100 us: one job waits 10 us beside two idle slots, and could use one."""
    played = [job("a", at=0, claimed=10, ended=100)]

    assert pytest.approx(1 - 10 / 200) == metrics.work_conservation(played, 2, 100)


def test_full_slots_waste_nothing() -> None:
    """A job that waits for a slot is no waste."""
    played = [job("a", claimed=0, ended=60), job("a", claimed=60), job("a")]

    assert 1.0 == metrics.work_conservation(played, 1, 100)


def test_a_curve_bends_with_each_claim_and_ending() -> None:
    """The service of a lane grows by one for each slot that it has."""
    played = [job("a", claimed=10, ended=30), job("a", claimed=20, ended=50)]

    curve = metrics.curves(played, 100)[A]

    assert [(0, 0), (10, 0), (20, 10), (30, 30), (50, 50), (100, 50)] == curve


def test_the_lag_is_the_largest_distance_at_any_moment() -> None:
    """Half the capacity from the start, against all of it after a while."""
    ours = {A: [Point(0, 0.0), Point(50, 0.0), Point(100, 50.0)]}
    ideal = {A: [Point(0, 0.0), Point(100, 50.0)], B: [Point(0, 0.0), Point(100, 10.0)]}

    assert {A: 25.0, B: 10.0} == metrics.lags_us(ours, ideal)


def test_a_lanes_bound_is_its_jobs_at_once_and_one_more() -> None:
    """(1 + L) c_max: two ran at once, and the longest took 40."""
    played = [
        job("a", claimed=0, ended=40),
        job("a", claimed=20, ended=50),
        job("a", claimed=50, ended=60),
        job("b"),
    ]

    assert {A: 3 * 40, B: 1} == metrics.bounds_us(played, 100)


def test_a_curve_grows_from_a_moment_on() -> None:
    """What a lane had before is taken off, in the middle of a stretch too."""
    curve = [Point(10, 0.0), Point(30, 40.0), Point(50, 40.0)]

    assert [(0, 0.0), (10, 20.0), (30, 20.0)] == metrics.curve_since(curve, 20)
    assert [(0, 0.0), (5, 0.0), (25, 40.0), (45, 40.0)] == metrics.curve_since(curve, 5)


def test_what_was_there_before_a_moment_has_slots_and_no_wait() -> None:
    """Times are from the moment; a job that is due later counts, also if it came early."""
    played = [
        job("a", claimed=5, ended=9),
        job("a", claimed=5, ended=30),
        job("b", at=12, claimed=15),
    ]
    trace = [played[0].arrival, played[1].arrival, played[2].arrival._replace(at_us=10)]

    found = metrics.since(played, trace, 10)

    assert [(-10, 0, 20), (2, 5, None)] == [
        (each.arrival.at_us, each.claimed_us, each.ended_us) for each in found
    ]
    assert [3] == metrics.dwells_us(found, "quiet", 100)
    assert {A: 20, B: 95} == metrics.service_us(found, 0, 100)
    assert {B: (2, 5)} == metrics.backlogged(found, 100)


def test_the_gap_is_in_service_over_weight() -> None:
    """40 of weight 1 and 60 of weight 2 are 10 apart at the end, and 20 on the way."""
    ours = {
        A: [Point(0, 0.0), Point(50, 40.0), Point(100, 40.0)],
        B: [Point(0, 0.0), Point(50, 40.0), Point(100, 60.0)],
    }

    assert 20.0 == metrics.largest_gap_us(ours, {B: 2.0}, [A, B])


def test_a_share_over_time_shows_an_edits_effect() -> None:
    """A quarter of the service before the edit, all of it after."""
    played = [job("a", claimed=75, ended=200), job("b", claimed=0, ended=75)]

    assert [0.25, 1.0] == metrics.shares(played, A, [0, 100, 200])


def test_utilisation_is_what_jobs_had_of_all_slot_time() -> None:
    """A job that runs still counts until the end."""
    played = [job("a", claimed=0, ended=50), job("b", claimed=75), job("b", at=10)]

    assert 0.375 == metrics.utilisation(played, 2, 100)
