"""The loop lets INSERTs notify it while they are rare, and sleeps when nothing happens."""

import pytest

from fairlead_scheduler.capacity.tick import tick_share
from fairlead_scheduler.loop.pacing import IdlePacing

SECOND_US = 1_000_000


def run(
    calm: IdlePacing, *, every_us: int, arrived: int, seconds: int = 10, start_us: int = 1
) -> int:
    """Look again and again, each time with so many new jobs; return the time at the end."""
    now_us = start_us
    while now_us < start_us + seconds * SECOND_US:
        calm.record_tick(now_us, arrived=arrived, planned=arrived, changed=False)
        now_us += every_us
    return now_us


def test_a_fresh_loop_may_rest() -> None:
    """With nothing seen there is no reason not to."""
    assert IdlePacing().may_rest


def test_twenty_single_inserts_a_second_may_notify() -> None:
    """Rare INSERTs wake the loop, each at once."""
    calm = IdlePacing()
    calm.resting = True
    run(calm, every_us=50_000, arrived=1)

    assert calm.may_rest


def test_a_hundred_inserts_a_second_may_not() -> None:
    """A notifying transaction takes an instance-wide lock: under load no INSERT notifies."""
    calm = IdlePacing()
    calm.resting = True
    run(calm, every_us=10_000, arrived=1)

    assert not calm.may_rest


def test_one_big_batch_makes_the_loop_busy() -> None:
    """Hundreds of jobs at once are load."""
    calm = IdlePacing()
    calm.resting = True
    calm.record_tick(1, arrived=1000, planned=0, changed=False)

    assert not calm.may_rest


def test_a_busy_loop_rests_again_within_a_second() -> None:
    """Heat fades when nothing comes."""
    calm = IdlePacing()
    end_us = run(calm, every_us=10_000, arrived=500)
    busy = not calm.may_rest
    calm.record_tick(end_us + SECOND_US, arrived=0, planned=0, changed=False)

    assert (True, True) == (busy, calm.may_rest)


def test_a_clock_that_steps_back_is_harmless() -> None:
    """Heat neither explodes nor vanishes when the database's clock is set back."""
    calm = IdlePacing()
    calm.record_tick(10 * SECOND_US, arrived=1, planned=1, changed=False)
    calm.record_tick(SECOND_US, arrived=1, planned=1, changed=False)

    assert calm.may_rest


def test_it_is_quiet_after_three_looks_without_a_change() -> None:
    """A receipt or a refill is a change; the next look comes a tick later."""
    calm = IdlePacing()
    quiet: list[bool] = []
    for changed in (True, False, False, False, True):
        calm.record_tick(1, arrived=0, planned=0, changed=changed)
        quiet.append(calm.is_quiet)

    assert [False, False, False, True, False] == quiet


@pytest.mark.parametrize(
    ("jobs", "free", "expected"),
    [(0, 2, 0.5), (2, 2, 0.5), (2, 50, 0.5), (3, 50, 1.0), (1, 1, 1.0), (0, 0, 1.0)],
)
def test_a_tick_is_halved_for_few_jobs_with_free_slots(
    jobs: int, free: int, expected: float
) -> None:
    """To a job that finds a free slot the tick is nearly all of its wait."""
    assert expected == tick_share(jobs=jobs, free=free)
