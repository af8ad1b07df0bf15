"""How the command line writes durations and reads what people write."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fairlead.inspection import formats
from fairlead_cli.error_sentences import bound


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (1, "1 s"),
        (59.6, "1 m"),
        (192, "3 m 12 s"),
        (3600, "1 h"),
        (3_661, "1 h 1 m"),
        (90_061, "1 d 1 h"),
        (86_400 * 400, "400 d"),
        (-192, "-3 m 12 s"),
    ],
)
def test_an_age_is_said_in_its_two_largest_units(seconds: float, said: str) -> None:
    """Ages read as 3 m 12 s."""
    assert said == formats.age(timedelta(seconds=seconds))


def test_what_has_no_age_is_a_dash() -> None:
    """A queue without a job has no oldest one."""
    now = datetime(2026, 11, 21, tzinfo=UTC)

    assert "-" == formats.since(None, now=now)
    assert "-" == formats.until(None, now=now)
    assert "1 h" == formats.since(now - timedelta(hours=1), now=now)
    assert "1 h" == formats.until(now + timedelta(hours=1), now=now)


def test_a_count_that_stopped_says_so() -> None:
    """Views count up to a bound."""
    assert "10,000+" == formats.count(10_000, or_more=True)
    assert "1,234" == formats.count(1234)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1.5 h", 5400),
        ("2m30s", 150),
        ("1d 2h", 93_600),
        ("5ms", 0.005),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: float) -> None:
    """A number alone is seconds."""
    assert timedelta(seconds=seconds) == formats.duration(text)


@pytest.mark.parametrize(
    "text", ["", " ", "soon", "3x", "-5s", "5 s!", "1e9d", "٣ s x", "9" * 30]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    """The sentence says what would do."""
    with pytest.raises(ValueError, match="such as 90s"):
        formats.duration(text)


def test_a_number_of_jobs_is_said_with_its_noun() -> None:
    """One job is not one jobs."""
    assert ["no job", "1 job", "2,000 jobs"] == [formats.jobs(each) for each in (0, 1, 2000)]


def test_an_instant_without_a_zone_is_utc() -> None:
    """No reader's zone changes what a command means."""
    zone = timezone(timedelta(hours=1))

    assert datetime(2026, 11, 21, 9, 30, tzinfo=UTC) == formats.instant("2026-11-21T09:30")
    assert datetime(2026, 11, 21, 9, 30, tzinfo=zone) == formats.instant(
        "2026-11-21 09:30+01:00"
    )
    with pytest.raises(ValueError, match="such as"):
        formats.instant("tomorrow")


def test_what_would_steer_a_terminal_is_escaped() -> None:
    """A queue may be called anything."""
    assert "\\x1b[2J\\n" == formats.printable("\x1b[2J\n")
    assert "Bäckerei 🐝" == formats.printable("Bäckerei 🐝")


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ("jobs_queue_is_1_to_128_bytes", "queue must be 1 to 128 bytes"),
        (
            "jobs_headers_are_an_object_of_at_most_8_kib",
            "headers must be an object of at most 8 KiB",
        ),
        (
            "schedules_timezone_is_known",
            "timezone must be one that PostgreSQL knows, such as Europe/Berlin",
        ),
        ("an_applications_own", "the constraint an_applications_own must hold"),
    ],
)
def test_a_constraints_name_reads_as_a_demand(constraint: str, said: str) -> None:
    """What the database refuses is said in the words of its constraint."""
    assert said == bound(constraint)
