"""The fluid's fair shares, worked out by hand, and the order that comes near to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fairness.contenders.ideal import begins, fluid
from fairlead_scheduler.simulation.trace import Arrival, Lane

A, B, C = ("q", "a"), ("q", "b"), ("r", "c")


def job(lane: Lane, cost: int, at: int = 0) -> Arrival:
    """Return a job of a lane."""
    return Arrival(at, lane[0], lane[1], cost)


def served(trace: list[Arrival], weights: dict[Lane, float], until: int) -> dict[Lane, float]:
    """Return what one slot gave each lane by then."""
    return {
        lane: points[-1].served_us for lane, points in fluid(trace, weights, 1, until).items()
    }


def test_lanes_with_work_share_by_weight() -> None:
    """Three quarters for a weight of 3."""
    both = served([job(A, 1000), job(B, 1000)], {B: 3.0}, 100)

    assert pytest.approx({A: 25.0, B: 75.0}) == both


def test_what_one_lane_leaves_goes_to_the_others() -> None:
    """A's 10 are done after 20; from then on B has everything."""
    both = served([job(A, 10), job(B, 1000)], {}, 100)

    assert pytest.approx({A: 10.0, B: 90.0}) == both


def test_a_lane_that_comes_back_has_no_credit() -> None:
    """A comes at 50 and has half from then on, whatever B had before."""
    both = served([job(B, 1000), job(A, 1000, at=50)], {}, 100)

    assert pytest.approx({A: 25.0, B: 75.0}) == both


def test_queues_share_alike_however_many_tenants_they_have() -> None:
    """Two levels: half for each queue, then halves of it."""
    three = served([job(A, 1000), job(B, 1000), job(C, 1000)], {}, 100)

    assert pytest.approx({A: 25.0, B: 25.0, C: 50.0}) == three


def test_a_job_begins_when_its_lane_has_served_those_before_it() -> None:
    """At half the speed A's second job of 10 begins at 20; none begins before it arrives."""
    trace = [job(A, 10), job(A, 10), job(B, 1000), job(A, 5, at=60), job(B, 10)]

    first, second, other, late, never = begins(trace, fluid(trace, {}, 1, 100))

    assert pytest.approx([0.0, 20.0, 0.0, 60.0]) == [first, second, other, late]
    assert float("inf") == never


jobs = st.lists(
    st.builds(job, st.sampled_from([A, B, C]), st.integers(1, 200), st.integers(0, 900)),
    min_size=1,
    max_size=30,
)


@given(jobs, st.integers(1, 4))
def test_the_fluid_serves_all_it_can_and_no_more(trace: list[Arrival], slots: int) -> None:
    """No lane has more than its work, together they have at most all time; the rest is done."""
    trace = sorted(trace)
    curves = fluid(trace, {A: 2.0}, slots, 1000)

    work = {lane: sum(each.cost_us for each in trace if each.lane == lane) for lane in curves}
    done = {lane: points[-1].served_us for lane, points in curves.items()}
    assert all(done[lane] <= work[lane] + 0.01 for lane in curves)
    assert sum(done.values()) <= slots * 1000 + 0.01
    if sum(work.values()) <= slots * 100:
        assert pytest.approx(work, abs=0.01) == done
