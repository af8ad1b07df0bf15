"""What schedules will fire soon is counted by queues and spans of five seconds."""

from datetime import timedelta

from fairlead.cron_times import Cron, parse
from fairlead_scheduler.cron.fires_ahead import (
    FiresAhead,
    Following,
    QueueSpans,
    by_span,
)
from fairlead_scheduler.cron.timetable import Schedule, Timetable

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
EVERY_MINUTE = Schedule("t", "minutely", "* * * * *", "UTC", "skip", 0, "q", by_admin=False)
DAILY = EVERY_MINUTE._replace(name="daily", cron="0 0 * * *", queue="night")


def cron_of(row: Schedule) -> Cron | str:
    """Return what a schedule says."""
    return parse(row.cron, row.timezone)


def timetable(*entries: tuple[Schedule, int]) -> Timetable:
    """Return a timetable of schedules with their next fires."""
    found = Timetable()
    found.add(row for row, _ in entries)
    found.take_unplanned(len(entries))
    for row, at_us in entries:
        found.enter(row, at_us)
    return found


def test_only_what_fires_until_then_is_upcoming() -> None:
    """Each schedule once, though it was entered twice; what is later is not looked at."""
    rows = [(EVERY_MINUTE._replace(name=f"{place}"), place * MINUTE_US) for place in range(99)]
    known = timetable(*rows)
    known.forget(rows[2][0].key)
    known.enter(*rows[3])

    assert {"0", "1", "3", "4"} == {row.name for row, _ in known.upcoming(4 * MINUTE_US)}
    assert 4 == len(list(known.upcoming(4 * MINUTE_US)))


def test_fires_after_the_next_one_count_as_well() -> None:
    """Those of an administrator may be close; of others those between are passed over."""
    fast = EVERY_MINUTE._replace(cron="*/5 * * * * *")
    following = Following(cron_of, MINUTE_US, timedelta(seconds=10))

    assert 11 == len(following.of(fast._replace(by_admin=True), 5 * SECOND_US))
    assert [15, 25, 35, 45, 55] == [
        at_us // SECOND_US for at_us in following.of(fast, 5 * SECOND_US)
    ]


def test_a_tenant_with_many_gets_its_jobs_as_its_rate_lets_them_go() -> None:
    """Ten seconds' worth at once, then so many a second; others are not slowed down."""
    many = [(DAILY, MINUTE_US)] * 300
    one = [(EVERY_MINUTE._replace(tenant="other"), MINUTE_US)]

    found = by_span(many + one, 10, 3 * MINUTE_US)

    assert {"q": {12: 1}} == {"q": found["q"]}
    assert {12: 150, 13: 50, 14: 50, 15: 50} == found["night"]


def test_they_are_counted_again_soon_after_something_has_fired() -> None:
    """And not otherwise for a while."""
    said: list[QueueSpans] = []
    ahead = FiresAhead(
        wanted=lambda: True, publish=said.append, fires_per_second=100, interval_seconds=10
    )
    known = timetable((DAILY, 400 * SECOND_US), (EVERY_MINUTE, 601 * SECOND_US))
    ahead.count(known.upcoming, cron_of, 0)
    ahead.count(known.upcoming, cron_of, 0)
    first = ahead.rest_seconds
    ahead.fired()

    assert [{"night": {80: 1}}] == said
    assert ahead.rest_seconds <= 0.5 < first


def test_nothing_is_counted_that_nobody_wants() -> None:
    """No pool scales."""
    said: list[QueueSpans] = []
    ahead = FiresAhead(
        wanted=lambda: False, publish=said.append, fires_per_second=100, interval_seconds=10
    )
    ahead.count(timetable((DAILY, 1)).upcoming, cron_of, 0)

    assert ([], True) == (said, ahead.rest_seconds > 0.5)
