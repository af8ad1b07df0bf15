"""What schedules guarantee in every time zone, around every change of the clocks."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.cron_times import parse

ZONES = sorted(
    name for name in available_timezones() if not name.startswith(("posix", "right"))
)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

zones = st.sampled_from(ZONES)
# Since 1972 every zone's offset is a whole minute, so minutes can be walked through.
BEGIN = datetime(1973, 1, 1, tzinfo=UTC)
instants = st.integers(0, 64 * 365 * 24 * 60).map(lambda count: BEGIN + count * MINUTE)
hours = st.integers(0, 23)
minutes = st.integers(0, 59)


def change_near(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return an instant a day before the next change of the zone's clock within a year."""
    offset = instant.astimezone(zone).utcoffset()
    for days in range(366):
        if (instant + days * DAY).astimezone(zone).utcoffset() != offset:
            return instant + (days - 2) * DAY
    return instant


def between(expression: str, zone: str, after: datetime, until: datetime) -> list[datetime]:
    """Return the fires of a range."""
    return list(parse(expression, zone).between(after, until))


@given(zones, instants, hours, minutes)
@example("Europe/Berlin", datetime(2026, 3, 1, tzinfo=UTC), 2, 30)
@example("Europe/Berlin", datetime(2026, 10, 1, tzinfo=UTC), 2, 30)
@example("Pacific/Apia", datetime(2011, 12, 1, tzinfo=UTC), 9, 0)
@example("America/Santiago", datetime(2026, 8, 25, tzinfo=UTC), 0, 0)
@example("Africa/Casablanca", datetime(2026, 1, 20, tzinfo=UTC), 2, 0)
@example("Antarctica/Troll", datetime(2026, 3, 1, tzinfo=UTC), 2, 30)
def test_a_local_time_fires_once_on_every_day(
    zone: str, somewhen: datetime, hour: int, minute: int
) -> None:
    """A fixed local time fires once on every day on which the local clock shows it."""
    info = ZoneInfo(zone)
    start = change_near(somewhen, info)
    elapsed = [start + n * MINUTE for n in range(1, 5 * 24 * 60)]
    # Times with the same tzinfo compare by wall clock.
    walls = [(instant, instant.astimezone(info)) for instant in elapsed]
    expected: list[datetime] = []
    first_day, last_day = walls[0][1].date(), walls[-1][1].date()
    days = sorted({shown.date() for _, shown in walls} - {first_day, last_day})
    for day in days:
        wanted = datetime.combine(day, time(hour, minute), info)
        expected.append(next(instant for instant, shown in walls if shown >= wanted))

    fired = between(f"{minute} {hour} * * *", zone, start, walls[-1][0])

    lowest, highest = min(expected), max(expected)
    assert expected == [fire for fire in fired if lowest <= fire <= highest]


@given(zones, instants, st.sets(minutes, min_size=1, max_size=4))
@example("Europe/Berlin", datetime(2026, 10, 1, tzinfo=UTC), {0, 30})
@example("Australia/Lord_Howe", datetime(2026, 3, 20, tzinfo=UTC), {0, 15, 45})
def test_every_hour_fires_whenever_the_clock_shows_it(
    zone: str, somewhen: datetime, at: set[int]
) -> None:
    """Wildcard hours fire by elapsed time: in each minute that the clock shows, also twice."""
    info = ZoneInfo(zone)
    start = change_near(somewhen, info)
    elapsed = [start + n * MINUTE for n in range(1, 4 * 24 * 60)]
    expected = [instant for instant in elapsed if instant.astimezone(info).minute in at]

    names = ",".join(map(str, sorted(at)))
    assert expected == between(f"{names} * * * *", zone, start, elapsed[-1])


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Draw an expression of five or six fields."""
    field = {
        "minute": st.sampled_from(["*", "*/7", "0", "30", "5,35", "10-20", "59"]),
        "hour": st.sampled_from(["*", "*/2", "0", "1-3", "2", "23", "0-23", "2,14"]),
        "day": st.sampled_from(["*", "1", "28-31", "L", "*/3"]),
        "month": st.sampled_from(["*", "3", "10", "MAR-OCT"]),
        "weekday": st.sampled_from(["*", "SUN", "1-5", "0#2", "5L"]),
    }
    five = " ".join(draw(choices) for choices in field.values())
    return draw(st.sampled_from(["", "0 ", "*/30 ", "15,45 "])) + five


@given(expressions(), zones, instants, st.integers(0, 48 * 60))
def test_fires_ascend_and_do_not_depend_on_where_the_search_starts(
    expression: str, zone: str, somewhen: datetime, later: int
) -> None:
    """Nothing fires twice, nothing is lost between two passes, and fires are ever later."""
    start = change_near(somewhen, ZoneInfo(zone))
    middle, end = start + later * MINUTE, start + 3 * DAY

    whole = between(expression, zone, start, end)
    parts = between(expression, zone, start, middle) + between(expression, zone, middle, end)

    assert whole == parts
    assert sorted(set(whole)) == whole


@given(expressions(), instants)
def test_in_utc_a_fire_is_a_time_that_matches(expression: str, start: datetime) -> None:
    """Where the clocks never change, both kinds of schedule fire alike."""
    fired = between(expression, "UTC", start, start + DAY)
    elsewhere = between(expression, "Etc/GMT+5", start + 5 * HOUR, start + 5 * HOUR + DAY)

    assert fired == [fire - 5 * HOUR for fire in elsewhere]
