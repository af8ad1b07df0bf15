"""Missed fires: skipped, coalesced or caught up on; fires that are on time fire always."""

from datetime import datetime, timedelta

import pytest

from fairlead.cron_times import parse
from fairlead_scheduler.cron.missed_fires import Fires, Missed, decide, keep_apart
from tests.support.instants import utc

NOW = "2026-01-10T12:00:05"
HOURS_AGO = ("2026-01-10T10:00", "2026-01-10T11:00")
"""The missed fires of an hourly schedule that was considered until half past nine."""


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ("skip", ["12:00"]),
        ("coalesce", ["11:00", "12:00"]),
        ("catch_up", ["10:00", "11:00", "12:00"]),
    ],
)
def test_missed_fires_are_skipped_coalesced_or_caught_up_on(
    missed: Missed, expected: list[str]
) -> None:
    """On-time fires fire always; missed ones by the policy, and each of them is counted."""
    decided = decide(parse("0 * * * *", "UTC"), missed, utc("2026-01-10T09:30"), utc(NOW), 1000)

    assert expected == [fire.strftime("%H:%M") for fire in decided.times]
    assert (utc(NOW), 2) == (decided.considered_until, decided.missed)


def test_a_fire_within_ten_seconds_is_on_time_for_every_policy() -> None:
    """A take-over of the lead makes no fire a missed one."""
    cron = parse("*/5 * * * * *", "UTC")
    policies: tuple[Missed, ...] = ("skip", "coalesce", "catch_up")
    before, now = utc("2026-01-10T12:00:01"), utc("2026-01-10T12:00:10.5")
    decided = {decide(cron, missed, before, now, 1000) for missed in policies}

    times = (utc("2026-01-10T12:00:05"), utc("2026-01-10T12:00:10"))
    assert {Fires(times, now, 0)} == decided


def test_catching_up_is_bounded_and_goes_on_where_it_stopped() -> None:
    """At most so many at a time; the rest comes with the next pass, and nothing is lost."""
    cron = parse("0 * * * *", "UTC")
    considered, now = utc("2026-01-01T00:00"), utc("2026-01-02T00:00")
    caught: list[datetime] = []
    passes = 0
    while considered < now:
        decided = decide(cron, "catch_up", considered, now, 7)
        considered, passes = decided.considered_until, passes + 1
        caught += decided.times

    assert (24, 4) == (len(caught), passes)
    assert sorted(set(caught)) == caught


def test_a_year_of_missed_seconds_is_coalesced_at_once() -> None:
    """The latest missed fire is found without walking through all of them."""
    cron = parse("* * * * * *", "UTC")
    now = utc("2026-01-10T12:00:00")
    decided = decide(cron, "coalesce", now - timedelta(days=365), now, 1000)

    assert now - timedelta(seconds=10) == decided.times[0]
    assert (11, 1000) == (len(decided.times), decided.missed)


def test_a_fire_that_is_late_for_anothers_sake_is_on_time() -> None:
    """The caller says by how much; then it fires with every policy."""
    cron = parse("0 * * * *", "UTC")
    policies: tuple[Missed, ...] = ("skip", "coalesce", "catch_up")
    before, now = utc("2026-01-10T11:30:00"), utc("2026-01-10T12:00:30")
    patient = timedelta(seconds=40)
    decided = {decide(cron, each, before, now, 9, on_time=patient) for each in policies}

    assert {Fires((utc("2026-01-10T12:00"),), now, 0)} == decided
    assert Fires((), now, 1) == decide(cron, "skip", before, now, 9)


def test_what_is_on_time_is_bounded_too_and_goes_on_where_it_stopped() -> None:
    """Otherwise what is beyond the bound would be lost."""
    cron, now = parse("* * * * * *", "UTC"), utc("2026-01-10T12:00:00")

    decided = decide(cron, "skip", now - timedelta(hours=1), now, 4)

    assert 4 == len(decided.times)
    assert decided.times[-1] == decided.considered_until < now


def apart(expression: str, *, considered: str, seconds: int, fires_max: int = 1000) -> Fires:
    """Decide on what an expression owes by `NOW`, each of its fires so far from the last."""
    cron = parse(expression, "UTC")
    decided = decide(cron, "catch_up", utc(considered), utc(NOW), fires_max)
    return keep_apart(decided, cron, timedelta(seconds=seconds))


def test_fires_too_soon_after_another_are_passed_over() -> None:
    """Those that are due, and those until the interval is over."""
    decided = apart("* * * * * *", considered="2026-01-10T11:59:58", seconds=4)

    assert (utc("2026-01-10T11:59:59"), utc("2026-01-10T12:00:03")) == decided.times
    assert utc("2026-01-10T12:00:06") == decided.considered_until
    assert decided.passed_over


def test_the_next_fire_is_an_interval_after_the_last_one() -> None:
    """However late that came: a fire a minute keeps to an interval of a minute."""
    each_minute = apart("* * * * *", considered="2026-01-10T11:59:30", seconds=60)
    each_second = apart("* * * * * *", considered="2026-01-10T12:00:04", seconds=10)

    assert ((utc("2026-01-10T12:00"),), utc(NOW), False) == (
        each_minute.times,
        each_minute.considered_until,
        each_minute.passed_over,
    )
    later = next(parse("* * * * * *", "UTC").after(each_second.considered_until))
    assert timedelta(seconds=10) == later - each_second.times[-1]


def test_what_owes_nothing_passes_over_nothing() -> None:
    """There is no fire to keep a distance from."""
    decided = apart("0 * * * *", considered="2026-01-10T12:00:01", seconds=60)

    assert ((), utc(NOW), False) == (
        decided.times,
        decided.considered_until,
        decided.passed_over,
    )
