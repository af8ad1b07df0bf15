"""How much is claimed ahead, and how long a claimer rests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead_worker.pace import AHEAD_MAX, BATCH_MAX, Pace, rest_seconds, wanted


def steady(per_second: float, seconds: float = 2.0) -> Pace:
    """Return the pace after jobs have ended at one rate for a while."""
    pace = Pace()
    for step in range(1, int(seconds / 0.02) + 1):
        pace = pace.after(int(per_second * step * 0.02), step * 0.02)
    return pace


@pytest.mark.parametrize(
    ("per_second", "ahead"), [(0, 0), (10, 0), (49, 0), (1000, 20), (20_000, 400)]
)
def test_about_20_ms_of_work_is_claimed_ahead(per_second: float, ahead: int) -> None:
    """Short jobs are prefetched by their pace, and long ones not at all."""
    assert ahead == pytest.approx(steady(per_second).ahead, abs=1 + ahead * 0.05)


@pytest.mark.parametrize(("per_second", "brisk"), [(0, False), (40, False), (60, True)])
def test_an_ending_waits_for_others_where_there_are_some(
    per_second: float, *, brisk: bool
) -> None:
    """A limit may keep a slot idle until its ending is written."""
    assert brisk == steady(per_second).is_brisk


def test_what_is_claimed_ahead_has_a_bound() -> None:
    """However quick the jobs are."""
    assert AHEAD_MAX == steady(1_000_000).ahead


def test_a_pace_is_forgotten_when_jobs_get_longer() -> None:
    """After half a second of nothing, nothing is claimed ahead."""
    pace = steady(20_000)

    for step in range(1, 26):
        pace = pace.after(pace.ended, 2.0 + step * 0.02)

    assert 0 == pace.ahead


@given(free=st.integers(0, 1000), ready=st.integers(0, 2000), ahead=st.integers(0, AHEAD_MAX))
def test_a_claim_never_exceeds_the_free_slots_and_the_prefetch(
    free: int, ready: int, ahead: int
) -> None:
    """Claims never exceed free slots plus the bounded prefetch, nor a batch."""
    count = wanted(free=free, ready=ready, ahead=ahead)

    assert 0 <= count <= min(BATCH_MAX, max(0, free + ahead - ready))


@given(free=st.integers(1, 1000), ahead=st.integers(0, AHEAD_MAX))
def test_an_idle_slot_is_never_left_waiting_for_a_larger_batch(free: int, ahead: int) -> None:
    """With a free slot and nothing ready, something is claimed."""
    assert wanted(free=free, ready=0, ahead=ahead) > 0


def test_room_for_few_is_left_until_it_is_worth_a_claim() -> None:
    """While all slots are taken, the prefetch is topped up by halves."""
    assert 0 == wanted(free=0, ready=60, ahead=100)
    assert 50 == wanted(free=0, ready=50, ahead=100)


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
