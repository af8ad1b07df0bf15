"""The gap between two runs, measured from made-up reads."""

from collections.abc import Sequence

import pytest

from fairlead_scheduler.capacity.utilization import EndedRuns, Utilization

MS = 1000
MEAN_US = 100 * MS


def look(
    utilization: Utilization, now_us: int, run_us: Sequence[int] = (), *, busy_slots: int
) -> None:
    """Take in one read of jobs that ended after these runs."""
    ended = [EndedRuns([each + 1 for each in range(len(run_us))], run_us)] if run_us else []
    utilization.take_endings(
        ended, now_us, in_flight=(), busy_slots=busy_slots, mean_us=MEAN_US
    )


def test_slots_that_are_never_between_two_runs_are_used_whole() -> None:
    """The value before it is measured."""
    assert (1.0, 0) == (Utilization().used, Utilization().gap_us)


def test_what_runs_fill_of_busy_slots_is_measured() -> None:
    """Four slots end a run of 100 ms every 125 ms."""
    utilization = Utilization()
    for place in range(1, 200):
        look(utilization, place * 125 * MS, [100 * MS] * 4, busy_slots=4)

    assert 0.8 == pytest.approx(utilization.used, abs=0.001)


def test_slots_that_are_free_say_nothing() -> None:
    """No job waits for them, so what they could do is not measured."""
    utilization = Utilization()
    for place in range(1, 200):
        look(utilization, place * 125 * MS, [MS], busy_slots=0)

    assert 1.0 == utilization.used


def test_the_first_two_runs_of_a_busy_time_are_left_out() -> None:
    """They end after it has begun, and nothing ends before: that is no idle slot."""
    utilization = Utilization(span_us=MEAN_US)
    look(utilization, 10 * MS, busy_slots=4)
    for place in range(1, 100):
        look(utilization, (10 + 2 * place) * MS, busy_slots=4)

    assert 1.0 == utilization.used


def test_what_a_job_is_in_flight_beyond_its_run_is_measured() -> None:
    """Dispatched at 0, its ending is read at 140 ms after a run of 100."""
    utilization = Utilization()
    utilization.record_plan([(7, 0, 0, None)], 0)
    utilization.take_endings(
        [EndedRuns([6, 7], [1, 100 * MS])],
        140 * MS,
        in_flight=(),
        busy_slots=0,
        mean_us=MEAN_US,
    )

    assert 40 * MS == utilization.gap_us


def test_a_job_that_is_in_flight_or_was_recalled_is_no_sample() -> None:
    """It has not ended by running."""
    utilization = Utilization()
    utilization.record_plan([(7, 0, 0, None)], 0)
    for in_flight in ((7,), ()):
        utilization.take_endings([], 9 * MS, in_flight=in_flight, busy_slots=0, mean_us=MEAN_US)

    assert 0 == utilization.gap_us
