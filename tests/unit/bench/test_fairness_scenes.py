"""The scenes on PostgreSQL: evaluation of recorded dispatches, gaps and estimates."""

import pytest

from bench.fairness.postgres import dispatch_log
from bench.fairness.postgres.dispatch_log import Dispatch
from bench.fairness.scenes import estimates, failover, limits
from fairlead_scheduler.simulation.trace import Arrival

MS, SECOND = 1000, 1_000_000


def dispatch(place: int, at_us: int, *, run_us: int = SECOND, in_flight: int = 1) -> Dispatch:
    """Return a dispatch whose job is claimed 10 ms later, and stored 20 ms after it slept."""
    claimed_us = at_us + 10 * MS
    finished_us = claimed_us + run_us + 20 * MS
    return Dispatch(place, 1, in_flight, 1, at_us, 0, claimed_us, finished_us)


def test_a_job_over_its_tenants_limit_is_seen() -> None:
    """At the dispatch that exceeded it; other tenants have no limit."""
    found = [dispatch(0, 0, in_flight=4), dispatch(1, 0, in_flight=9)]

    assert 1 == dispatch_log.over_limit(found, ["limited", "free"], {"limited": 3})
    assert 0 == dispatch_log.over_limit(found, ["limited", "free"], {"limited": 4})
    assert 0 == dispatch_log.over_limit([], [], {"limited": 4})


@pytest.mark.parametrize(
    ("times_ms", "over"),
    [
        ([0, 0, 0, 500, 1000, 1500], 0),
        ([0, 0, 0, 500, 999, 1499], 0),
        ([0, 0, 0, 0], 1),
        ([9000, 9000, 9000, 9100, 9200], 1),
        ([0, 5000, 5000, 5000, 5000, 5000], 2),
        ([], 0),
    ],
)
def test_a_window_with_more_than_a_rate_allows_is_seen(times_ms: list[int], over: int) -> None:
    """Two a second with a burst of three: whole jobs only, since records are a moment late."""
    times_us = [at_ms * MS for at_ms in times_ms]

    assert over == dispatch_log.over_rate(times_us, per_second=2, burst=3)


def test_the_time_between_two_jobs_of_a_slot_is_told_in_its_parts() -> None:
    """One slot: read and dispatched after 5 ms, claimed after 10, started and stored in 20."""
    cycle_us = 35 * MS + SECOND
    trace = [Arrival(0, "q", "a", SECOND)] * 5
    found = [dispatch(place, place * cycle_us) for place in range(5)]

    span = (0, 5 * cycle_us)
    said = {
        **limits.figures(found, trace, 1, span),
        **limits.gaps([found], trace, 1, span),
    }

    assert 5 == said["until_dispatched_p50_ms"]
    assert 10 == said["until_claimed_p50_ms"]
    assert 20 == said["start_and_end_p50_ms"]
    assert round(SECOND / cycle_us, 6) == round(said["work_conservation"], 6)


def test_a_job_that_was_recalled_counts_once() -> None:
    """Only its last dispatch: an edit had it dispatched again."""
    recalled, other, again = dispatch(0, 10), dispatch(1, 20), dispatch(0, 30)

    assert [other, again] == dispatch_log.lasting([recalled, other, again])


def test_an_error_is_told_in_seconds_and_as_a_part_of_the_wait() -> None:
    """For jobs that started at once, in seconds only."""
    said = [
        (estimates.Estimate(0, "turn", 0, 5 * SECOND), 4 * SECOND),
        (estimates.Estimate(1, "turn", 0, 2 * SECOND), 4 * SECOND),
        (estimates.Estimate(2, "turn", 0, 0), 100 * MS),
    ]

    found = estimates.errors(said)

    assert 3 == found["questions"]
    assert round(2 / 3, 6) == round(found["started_later"], 6)
    assert (1.0, 2.0) == (found["error_p50_seconds"], found["error_p90_seconds"])
    assert (0.25, 0.5) == (found["relative_error_p50"], found["relative_error_p90"])


def test_a_gap_ends_with_the_next_leaders_first_dispatch() -> None:
    """Jobs that the old leader had dispatched are still claimed meanwhile."""
    found = [
        Dispatch(0, 7, 1, 1, 1 * SECOND, 0, 3 * SECOND, None),
        Dispatch(1, 8, 1, 1, 4 * SECOND, 0, None, None),
    ]

    assert 3 * SECOND == failover.gap_us(found, 1.5 * SECOND)


def test_the_bound_counts_what_is_in_flight() -> None:
    """(1 + L) c_max of each lane, with unclaimed jobs among the L."""
    trace = [Arrival(0, "q", "a", 2 * SECOND), Arrival(0, "q", "a", SECOND)]
    found = [dispatch(0, 0, in_flight=4), dispatch(1, 10, in_flight=3)]

    assert {("q", "a"): 5 * 2 * SECOND} == failover.bounds_us(found, trace)
