"""Rates: the generic cell rate algorithm on values."""

import pytest

from fairlead_scheduler.policy.gcra import (
    Rate,
    WindowUsage,
    arrival_after,
    carry_over,
    empty_us,
    jobs_allowed,
    release_us,
)

SECOND = 1_000_000
THREE_A_SECOND = Rate(3, SECOND, 2)


def test_a_burst_may_go_at_once_and_then_one_job_at_a_time() -> None:
    """At most the burst at once; after that one job each third of a second."""
    arrival = arrival_after(THREE_A_SECOND, 0, 2, 10 * SECOND)

    allowances = [
        jobs_allowed(THREE_A_SECOND, arrival, 10 * SECOND + us)
        for us in (0, 333_333, 333_334, 666_666, 666_667, 5 * SECOND)
    ]

    assert [0, 0, 1, 1, 2, 2] == allowances


def test_the_release_is_the_first_microsecond_at_which_a_job_may_go() -> None:
    """Next release time: nothing is gained by looking earlier, nothing lost by looking then."""
    arrival = arrival_after(THREE_A_SECOND, 0, 2, 10 * SECOND)

    at_us = release_us(THREE_A_SECOND, arrival)

    assert (0, 1) == (
        jobs_allowed(THREE_A_SECOND, arrival, at_us - 1),
        jobs_allowed(THREE_A_SECOND, arrival, at_us),
    )


def test_intervals_are_not_rounded() -> None:
    """700 a second are 700 a second, though a job's interval is no whole microsecond."""
    rate = Rate(700, SECOND, 2)
    arrival, now_us, jobs = 0, 0, 0
    while now_us < 10 * SECOND:
        jobs += 1
        arrival = arrival_after(rate, arrival, 1, now_us)
        now_us = release_us(rate, arrival)

    assert 7001 == jobs


@pytest.mark.parametrize(
    ("story", "limit"), [("the same limit", 3), ("ten times as much", 30), ("less", 1)]
)
def test_what_is_used_stays_used_under_another_limit(story: str, limit: int) -> None:
    """An edit forgives no job that has gone."""
    arrival = arrival_after(THREE_A_SECOND, 0, 2, 10 * SECOND)
    used = WindowUsage("q", None, SECOND, empty_us(THREE_A_SECOND, arrival), 3)
    other = Rate(limit, SECOND, 2)

    now = jobs_allowed(other, carry_over(other, used, 10 * SECOND), 10 * SECOND)

    assert now <= 0, story


def test_a_raised_limit_is_felt_at_once() -> None:
    """Ten an hour, all used, raised to a thousand: the next job waits seconds, not minutes."""
    hour = 3600 * SECOND
    slow, fast = Rate(10, hour, 10), Rate(1000, hour, 10)
    used = WindowUsage("q", "a", hour, empty_us(slow, arrival_after(slow, 0, 10, 5 * hour)), 10)

    wait_us = release_us(fast, carry_over(fast, used, 5 * hour)) - 5 * hour

    assert 3_600_000 == wait_us


def test_a_stored_window_is_full_at_most() -> None:
    """One that seems used up for an hour is from before the database's clock was set back."""
    used = WindowUsage("q", None, SECOND, 3600 * SECOND)

    wait_us = release_us(THREE_A_SECOND, carry_over(THREE_A_SECOND, used, 10 * SECOND))

    assert 10_333_334 == wait_us
