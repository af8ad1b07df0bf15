"""How much is prefetched, and how long a claimer rests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead_worker.child.claim_rate import (
    BATCH_MAX,
    PREFETCH_MAX,
    JobRate,
    Room,
    bounded_limit,
    claim_limit,
    rest_seconds,
)


def steady(per_second: float, seconds: float = 2.0) -> JobRate:
    """Return the rate after jobs have ended at one rate for a while."""
    rate = JobRate()
    for step in range(1, int(seconds / 0.02) + 1):
        rate = rate.after(int(per_second * step * 0.02), step * 0.02)
    return rate


@pytest.mark.parametrize(
    ("per_second", "prefetch"), [(0, 0), (10, 0), (49, 0), (1000, 20), (20_000, 400)]
)
def test_about_20_ms_of_work_is_prefetched(per_second: float, prefetch: int) -> None:
    """Short jobs are prefetched by their rate, and long ones not at all."""
    assert prefetch == pytest.approx(steady(per_second).prefetch, abs=1 + prefetch * 0.05)


@pytest.mark.parametrize(("per_second", "expected"), [(0, False), (40, False), (60, True)])
def test_an_ending_waits_for_others_where_there_are_some(
    per_second: float, *, expected: bool
) -> None:
    """A limit may keep a slot idle until its ending is stored."""
    assert expected == steady(per_second).should_batch


def test_the_prefetch_has_a_bound() -> None:
    """However quick the jobs are."""
    assert PREFETCH_MAX == steady(1_000_000).prefetch


def test_a_pace_is_forgotten_when_jobs_get_longer() -> None:
    """After half a second of nothing, nothing is prefetched."""
    rate = steady(20_000)

    for step in range(1, 26):
        rate = rate.after(rate.ended, 2.0 + step * 0.02)

    assert 0 == rate.prefetch


def test_slots_that_end_nothing_for_long_end_the_prefetch_at_once() -> None:
    """All are taken by long jobs: the next claim is not made at the pace of empty ones."""
    rate = steady(20_000)

    assert 0 == rate.after(rate.ended, 2.2, full=True).prefetch
    assert 0 < rate.after(rate.ended, 2.2).prefetch


@given(
    free=st.integers(0, 1000), ready=st.integers(0, 2000), prefetch=st.integers(0, PREFETCH_MAX)
)
def test_a_claim_never_exceeds_the_free_slots_and_the_prefetch(
    free: int, ready: int, prefetch: int
) -> None:
    """Claims never exceed free slots plus the bounded prefetch, nor a batch."""
    count = claim_limit(free=free, ready=ready, prefetch=prefetch)

    assert 0 <= count <= min(BATCH_MAX, max(0, free + prefetch - ready))


@given(free=st.integers(1, 1000), prefetch=st.integers(0, PREFETCH_MAX))
def test_an_idle_slot_is_never_left_waiting_for_a_larger_batch(
    free: int, prefetch: int
) -> None:
    """With a free slot and nothing ready, something is claimed."""
    assert claim_limit(free=free, ready=0, prefetch=prefetch) > 0


def test_room_for_few_is_left_until_it_is_worth_a_claim() -> None:
    """While all slots are taken, the prefetch is topped up by halves."""
    assert 0 == claim_limit(free=0, ready=60, prefetch=100)
    assert 50 == claim_limit(free=0, ready=50, prefetch=100)


@pytest.mark.parametrize(
    ("quiet_seconds", "listening", "polling"),
    [(0, 0.005, 0.005), (0.3, 0.3, 0.3), (60, 12.0, 0.5)],
)
def test_a_rest_grows_with_the_silence(
    quiet_seconds: float, listening: float, polling: float
) -> None:
    """An idle process asks at most once in 12 s, or in 0.5 s where it cannot listen."""
    assert listening == rest_seconds(quiet_seconds=quiet_seconds, listens=True)
    assert polling == rest_seconds(quiet_seconds=quiet_seconds, listens=False)


@pytest.mark.parametrize(
    ("bound", "ready", "expected"),
    [(None, 0, 30), (8, 0, 8), (8, 5, 3), (8, 8, 0), (8, 9, 0), (1, 0, 0)],
)
def test_under_a_bound_so_many_are_held_unstarted_at_most(
    bound: int | None, ready: int, expected: int
) -> None:
    """The slots that are free do not count then, nor does the pace."""
    room = Room(free=20, ready=ready, held=ready + 7)

    assert expected == bounded_limit(room, 10, bound)


def test_a_bound_of_one_is_one_attempt_in_all() -> None:
    """Whatever ends the process is that one."""
    assert 1 == bounded_limit(Room(free=20, ready=0, held=0), 10, 1)
    assert 0 == bounded_limit(Room(free=19, ready=0, held=1), 10, 1)


@given(
    bound=st.integers(1, 500), prefetch=st.integers(0, PREFETCH_MAX), free=st.integers(1, 50)
)
def test_with_a_free_slot_and_nothing_held_there_is_always_a_claim(
    bound: int, prefetch: int, free: int
) -> None:
    """A bound delays work and never stops it."""
    assert bounded_limit(Room(free=free, ready=0, held=0), prefetch, bound) > 0
