"""Schedules fire at local times: named hours once a day, every hour by elapsed time."""

from datetime import timedelta
from itertools import islice

import pytest

from fairlead.cron_times import BadSchedule, parse
from tests.support.instants import utc

# In Berlin the clocks jump from 02:00 to 03:00 on 29 March 2026 (01:00 UTC), and show
# 02:00 to 03:00 twice on 25 October 2026 (from 00:00 UTC to 02:00 UTC).
BERLIN = "Europe/Berlin"


def fires(expression: str, zone: str, after: str, count: int) -> list[str]:
    """Return the next fires as UTC minutes."""
    found = islice(parse(expression, zone).after(utc(after)), count)
    return [fire.strftime("%m-%d %H:%M") for fire in found]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-03-27T12:00",
            ["03-28 01:30", "03-29 01:00", "03-30 00:30"],
            id="a time that is jumped over fires at the end of the jump",
        ),
        pytest.param(
            "*/15 2 * * *",
            BERLIN,
            "2026-03-28T12:00",
            ["03-29 01:00", "03-30 00:00", "03-30 00:15"],
            id="several times that are jumped over fire as one",
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-10-24T12:00",
            ["10-25 00:30", "10-26 01:30"],
            id="a time that is shown twice fires the first time",
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-10-25T00:30",
            ["10-26 01:30"],
            id="and not again in the repeated hour",
        ),
        pytest.param(
            "30 * * * *",
            BERLIN,
            "2026-10-24T23:00",
            ["10-24 23:30", "10-25 00:30", "10-25 01:30", "10-25 02:30"],
            id="every hour fires in the repeated hour too",
        ),
        pytest.param(
            "30 0-23 * * *",
            BERLIN,
            "2026-03-29T00:00",
            ["03-29 00:30", "03-29 01:30"],
            id="every hour skips no elapsed hour at a jump",
        ),
        pytest.param(
            "0 9 * * *",
            "Pacific/Apia",
            "2011-12-28T12:00",
            ["12-28 19:00", "12-29 19:00", "12-30 19:00"],
            id="a day that a zone leaves out has no fire",
        ),
        pytest.param(
            "0 0 * * *",
            "America/Santiago",
            "2026-09-05T12:00",
            ["09-06 04:00", "09-07 03:00"],
            id="a midnight that does not exist fires at one o'clock",
        ),
        pytest.param(
            "15 0 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T12:00",
            ["10-03 15:30", "10-04 15:00"],
            id="clocks that jump by half an hour, six fields",
        ),
        pytest.param(
            "0 12 29 2 *",
            "UTC",
            "2026-01-01T00:00",
            ["02-29 12:00", "02-29 12:00"],
            id="a leap day comes every four years",
        ),
        pytest.param(
            "0 12 L * *",
            "UTC",
            "2026-01-31T12:00",
            ["02-28 12:00", "03-31 12:00"],
            id="the last day of the month",
        ),
    ],
)
def test_fires_follow_the_local_clock(
    expression: str, zone: str, after: str, expected: list[str]
) -> None:
    """A fixed local time fires once on every day it should; wildcard hours by elapsed time."""
    assert expected == fires(expression, zone, after, len(expected))


def test_seconds_are_kept_where_there_are_six_fields() -> None:
    """Six fields have seconds first."""
    cron = parse("*/20 * * * * *", "UTC")
    after = utc("2026-01-01T00:00:05")

    assert [20, 40, 0] == [fire.second for fire in islice(cron.after(after), 3)]


def test_a_fire_is_never_the_instant_that_it_is_asked_after() -> None:
    """A fire at the instant itself has been considered; a fraction of a second counts."""
    cron = parse("0 9 * * *", "UTC")
    nine = utc("2026-01-01T09:00")

    assert nine + timedelta(days=1) == next(cron.after(nine))
    assert nine == next(cron.after(nine - timedelta(microseconds=1)))


@pytest.mark.parametrize(
    ("expression", "zone", "sentence"),
    [
        ("61 * * * *", "UTC", "cron '61 .*Bad minute.*five fields"),
        ("* * * * * * *", "UTC", "cron .*fields"),
        ("0 0 31 2 *", "UTC", "cron .*Bad day-of-month"),
        ("", "UTC", "cron ''"),
        ("0 0 * * *", "Europe/Atlantis", "timezone 'Europe/Atlantis' is no IANA zone"),
        ("0 0 * * *", "../../etc/passwd", "is no IANA zone"),
        ("0 0 * * *", "America", "is no IANA zone"),
    ],
)
def test_a_bad_schedule_is_refused_in_one_sentence(
    expression: str, zone: str, sentence: str
) -> None:
    """An expression or a zone that cannot be used is named, with what to write instead."""
    with pytest.raises(BadSchedule, match=sentence):
        parse(expression, zone)
