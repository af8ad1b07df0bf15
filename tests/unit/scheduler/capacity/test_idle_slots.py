"""Slots are idle that have been so for two seconds at least, and at every plan."""

from fairlead_scheduler.capacity.idle_slots import IdleSlots

SECOND = 1_000_000


def idle_after(*observed: tuple[float, int]) -> int:
    """Return how many slots are idle after these were at these seconds."""
    slots = IdleSlots()
    for at, idle in observed:
        slots.observe(int((10 + at) * SECOND), idle)
    return slots.least


def test_the_least_of_the_last_seconds_counts() -> None:
    """Nothing is known before two seconds have passed."""
    assert 0 == idle_after((0, 20), (1, 20))
    assert 18 == idle_after((0, 20), (1, 18), (2, 20))
    assert 3 == idle_after((0, 20), (2, 20), (2.5, 3), (3, 20))
    assert 20 == idle_after((0, 3), (2, 20), (4, 20))


def test_more_rows_than_free_slots_are_no_debt() -> None:
    """There are no fewer than none."""
    assert 0 == idle_after((0, -5), (2, 20))


def test_of_the_time_without_plans_nothing_is_known() -> None:
    """As after a leader had nothing to do for a while."""
    assert 0 == idle_after((0, 20), (2, 20), (9, 20))
