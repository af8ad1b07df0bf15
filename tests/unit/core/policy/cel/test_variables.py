"""Variables of conditions: the clock of the zone, and slots where there are none."""

import pytest

from fairlead.policy.cel.variables import Workers, clock, pool_values


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("UTC", (23, 30, 7)), ("Asia/Kolkata", (5, 0, 1)), ("America/New_York", (18, 30, 7))],
)
def test_the_clock_is_that_of_the_zone(zone: str, expected: tuple[int, int, int]) -> None:
    """Monday is 1 and Sunday 7, and the day changes with the zone."""
    sunday_us = 1_767_569_400_000_000

    assert expected == clock(zone, sunday_us)


def test_without_workers_none_of_their_slots_is_free() -> None:
    """A share of nothing is nothing, so that `workers.free_ratio < 0.1` holds then."""
    assert (9, 0, 1, 0, 0, 0.0) == pool_values((9, 0, 1), Workers(0, 0))
    assert (9, 0, 1, 8, 2, 0.25) == pool_values((9, 0, 1), Workers(8, 2))
