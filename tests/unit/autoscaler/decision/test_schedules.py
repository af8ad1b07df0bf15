"""Schedules hold by the clock of their zone, and are asked for a start delay ahead."""

import pytest

from fairlead.policy.autoscale import Schedule
from fairlead_autoscaler.decision.schedules import ScheduledBounds, bounds, is_active
from tests.support.autoscaling import pool
from tests.support.instants import utc


def schedule(**given: object) -> Schedule:
    """Return a schedule of one pod at least."""
    return Schedule.model_validate({"min": 1} | given)


@pytest.mark.parametrize(
    ("instant", "expected"),
    [
        ("2026-03-02 07:59:59", False),  # a Monday
        ("2026-03-02 08:00:00", True),
        ("2026-03-02 17:59:59", True),
        ("2026-03-02 18:00:00", False),
        ("2026-03-07 12:00:00", False),  # a Saturday
    ],
)
def test_a_schedule_holds_from_its_start_until_its_end(instant: str, expected: bool) -> None:  # noqa: FBT001 - a table's column
    """The start is within it, the end is not, and other days are not."""
    office = schedule(days=["mon", "tue", "wed", "thu", "fri"], start="08:00", end="18:00")

    assert expected == is_active(office, utc(instant))


@pytest.mark.parametrize(
    ("instant", "expected"),
    [
        ("2026-03-06 21:59:00", False),  # a Friday
        ("2026-03-06 22:00:00", True),
        ("2026-03-07 05:59:00", True),
        ("2026-03-07 06:00:00", False),
        ("2026-03-07 22:00:00", False),
        ("2026-03-06 03:00:00", False),
    ],
)
def test_a_schedule_over_midnight_belongs_to_the_day_on_which_it_starts(
    instant: str,
    expected: bool,  # noqa: FBT001 - a table's column
) -> None:
    """Friday's night is also the first hours of Saturday."""
    assert expected == is_active(
        schedule(days=["fri"], start="22:00", end="06:00"), utc(instant)
    )


def test_equal_times_are_a_whole_day() -> None:
    """An end that is not after the start is on the next day."""
    sunday = schedule(days=["sun"], start="00:00", end="00:00")

    assert [False, True, True, False] == [
        is_active(sunday, utc(instant))
        for instant in (
            "2026-03-07 23:59:00",
            "2026-03-08 00:00:00",
            "2026-03-08 23:59:00",
            "2026-03-09 00:00:00",
        )
    ]


def test_a_schedule_follows_the_clock_through_the_year() -> None:
    """Eight in Berlin is seven in winter and six in summer, by UTC."""
    office = schedule(start="08:00", end="18:00", zone="Europe/Berlin")

    assert [False, True, False, True] == [
        is_active(office, utc(instant))
        for instant in (
            "2026-01-15 06:59:00",
            "2026-01-15 07:00:00",
            "2026-07-15 05:59:00",
            "2026-07-15 06:00:00",
        )
    ]


def test_the_night_on_which_the_clocks_jump_loses_an_hour() -> None:
    """From two to four: on that night an hour, from one UTC to two."""
    night = schedule(start="02:00", end="04:00", zone="Europe/Berlin")

    assert [False, True, True, False] == [
        is_active(night, utc(f"2026-03-29 {time}"))
        for time in ("00:59:00", "01:00:00", "01:59:00", "02:00:00")
    ]


def test_the_night_on_which_the_clocks_repeat_counts_both_times() -> None:
    """From two to three: on that night two hours, from midnight UTC to two."""
    night = schedule(start="02:00", end="03:00", zone="Europe/Berlin")

    assert [False, True, True, False] == [
        is_active(night, utc(f"2026-10-{time}"))
        for time in ("24 23:59:00", "25 00:00:00", "25 01:59:00", "25 02:00:00")
    ]


def test_floors_are_asked_for_ahead_and_caps_on_time() -> None:
    """The highest floor and the lowest cap count; a floor needs its pods when it begins."""
    config = pool(
        schedules=[
            {"start": "08:00", "end": "18:00", "min": 5},
            {"start": "08:00", "end": "09:00", "min": 20, "max": 50},
            {"start": "00:00", "end": "00:00", "max": 80},
        ]
    )

    assert [
        ScheduledBounds(None, 80),
        ScheduledBounds(20, 80),
        ScheduledBounds(20, 50),
        ScheduledBounds(5, 80),
    ] == [
        bounds(config, utc(f"2026-03-02 {time}"), ahead_seconds=90)
        for time in ("07:58:29", "07:58:30", "08:00:00", "09:00:00")
    ]
