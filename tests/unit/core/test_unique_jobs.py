"""What says how a job is the only one of its key is checked before anything is sent."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from fairlead import NewJob, unique_jobs

_LATER = datetime(2100, 1, 1, tzinfo=UTC)


def test_a_job_of_which_nothing_is_said_is_an_insert() -> None:
    """Also with a dedup key."""
    assert {} == unique_jobs.fields(NewJob(kind="k", dedup_key="key"))


def test_spans_are_sent_as_postgresql_reads_them() -> None:
    """Seconds or a timedelta."""
    job = NewJob(kind="k", dedup_key="key", debounce=1.5, debounce_max=timedelta(minutes=1))

    assert {"replace": False, "debounce": "1.5 s", "debounce_max": "60.0 s"} == (
        unique_jobs.fields(job)
    )


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (NewJob(kind="k", replace=True), "dedup_key is None: replace needs the key that"),
        (NewJob(kind="k", debounce=1), "dedup_key is None: debounce needs the key that"),
        (NewJob(kind="k", unique_for=1), "dedup_key is None: unique_for needs the key that"),
        (NewJob(kind="k", debounce_max=1), "debounce_max is 1 without a debounce: give both"),
        (NewJob(kind="k", debounce=0), "debounce is 0: give 1 ms to 30 days"),
        (NewJob(kind="k", debounce=float("nan")), "debounce is nan: give 1 ms to 30 days"),
        (NewJob(kind="k", debounce=timedelta(31)), "debounce is 31 days, 0:00:00: give 1 ms"),
        (
            NewJob(kind="k", debounce=2, debounce_max=1),
            "debounce_max is 1: give 2, which is deb",
        ),
        (
            NewJob(kind="k", debounce=2, debounce_max=timedelta(366)),
            "debounce_max is 366 days, 0:00:00: give 2, which is debounce, to 365 days",
        ),
        (NewJob(kind="k", unique_for=0.5), "unique_for is 0.5: give 1 s to 31 days"),
        (
            NewJob(kind="k", unique_for=timedelta(32)),
            "unique_for is 32 days, 0:00:00: give 1 s",
        ),
        (NewJob(kind="k", unique_for=9, replace=True), "unique_for is 9 beside replace or deb"),
        (NewJob(kind="k", unique_for=9, debounce=1), "unique_for is 9 beside replace or debou"),
        (
            NewJob(kind="k", debounce=1, run_at=_LATER),
            r"run_at is 2100-01-01 00:00:00\+00:00 beside debounce, which says when",
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence(job: NewJob, said: str) -> None:
    """With the field, its value and the fix, as SQL says it."""
    with pytest.raises(ValueError, match=said):
        unique_jobs.fields(job)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"debounce": "5"}, "debounce is '5': give seconds or a timedelta"),
        ({"debounce": True}, "debounce is True: give seconds or a timedelta"),
        ({"debounce": 1, "debounce_max": [2]}, r"debounce_max is \[2\]: give seconds"),
        ({"unique_for": "1h"}, "unique_for is '1h': give seconds or a timedelta"),
        ({"replace": "no"}, "replace is 'no': give True or False"),
    ],
)
def test_what_is_of_another_type_is_one_sentence(given: dict[str, Any], said: str) -> None:
    """It was an error about a comparison, or about text that PostgreSQL had been sent."""
    with pytest.raises(TypeError, match=said):
        unique_jobs.fields(NewJob(kind="k", dedup_key="key", **given))


def test_any_number_is_so_many_seconds() -> None:
    """Such as one that was read from a database."""
    seconds: Any = Decimal("2.5")

    assert (
        "2.5 s"
        == unique_jobs.fields(NewJob(kind="k", dedup_key="key", debounce=seconds))["debounce"]
    )
