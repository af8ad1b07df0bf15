"""What a handler returned or raised decides how its attempt ends."""

import asyncio
from datetime import timedelta

import pytest

import fairlead
from fairlead.job import UnreadablePayload
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.outcome import (
    Ending,
    Finished,
    FinishedByHandler,
    HandedBack,
    JobLost,
    Stop,
)
from fairlead_worker.isolated.process_runner import from_line, to_line


def raised(error: BaseException) -> BaseException:
    """Return the error with a traceback."""
    try:
        raise error  # noqa: TRY301 - the point is the traceback
    except BaseException as caught:  # noqa: BLE001 - the test is about whatever is raised
        return caught


def ending(error: BaseException, stop: Stop | None = None) -> Ending:
    """Return how an attempt ends whose handler raised this."""
    return outcome.from_error(raised(error), stop, 30.0)


def test_a_returned_value_is_the_result() -> None:
    """None is a success without a result; anything else must be JSON."""
    assert outcome.from_value(None) is None
    assert Finished("succeeded", '{"a":1}') == outcome.from_value({"a": 1})

    failed = outcome.from_value(object())

    assert isinstance(failed, Finished)
    assert "failed" == failed.outcome
    assert "result cannot be written as JSON" in str(failed.error)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (fairlead.Discard("no such user"), Finished("failed", None, "no such user")),
        (fairlead.Discard(), Finished("failed", None, "discarded")),
        (
            UnreadablePayload("payload cannot be read"),
            Finished("failed", None, "payload cannot be read"),
        ),
        (fairlead.Snooze(for_=90), HandedBack("snoozed", None, 90.0)),
        (fairlead.Snooze(for_=timedelta(hours=1)), HandedBack("snoozed", None, 3600.0)),
    ],
)
def test_what_a_handler_raises_on_purpose_is_done(
    error: BaseException, expected: Ending
) -> None:
    """Discard fails for good, Snooze comes again without using an attempt."""
    assert expected == ending(error)


@pytest.mark.parametrize(
    ("error", "head", "delay_seconds"),
    [
        (ValueError("bad"), "ValueError: bad\n", None),
        (KeyError(), "KeyError\n", None),
        (fairlead.Retry("busy", after=5), "Retry: busy\n", 5.0),
        (fairlead.Retry(), "Retry\n", None),
        (SystemExit(3), "SystemExit: 3\n", None),
        (KeyboardInterrupt(), "KeyboardInterrupt\n", None),
        (asyncio.CancelledError(), "CancelledError\n", None),
    ],
)
def test_any_other_error_is_a_failure_that_comes_again(
    error: BaseException, head: str, delay_seconds: float | None
) -> None:
    """The error's type and message come first, then where it was raised."""
    failed = ending(error)

    assert isinstance(failed, HandedBack)
    assert ("failed", delay_seconds) == (failed.ended_as, failed.delay_seconds)
    assert str(failed.error).startswith(head)
    assert "in raised" in str(failed.error)


@pytest.mark.parametrize(
    ("stop", "error", "expected"),
    [
        (
            "cancelled",
            asyncio.CancelledError(),
            Finished("cancelled", None, "cancelled while it ran"),
        ),
        ("cancelled", ValueError("x"), Finished("cancelled", None, "cancelled while it ran")),
        (
            "timeout",
            asyncio.CancelledError(),
            HandedBack("failed", "timeout: it ran longer than 30 s"),
        ),
        (
            "timeout",
            fairlead.Cancelled(),
            HandedBack("failed", "timeout: it ran longer than 30 s"),
        ),
        ("timeout", fairlead.Discard("late"), Finished("failed", None, "late")),
        (
            "released",
            asyncio.CancelledError(),
            HandedBack("released", "its worker was stopped before it was done"),
        ),
        (
            "evicted",
            asyncio.CancelledError(),
            HandedBack("released", "it was asked to stop so that another tenant could run"),
        ),
        ("lost", asyncio.CancelledError(), JobLost()),
        ("lost", ValueError("x"), JobLost()),
    ],
)
def test_a_handler_that_was_stopped_ends_with_the_reason(
    stop: Stop, error: BaseException, expected: Ending
) -> None:
    """What it raises is ignored, except for Retry, Snooze and Discard at its deadline."""
    assert expected == ending(error, stop)


def test_an_error_after_the_deadline_is_shown_with_it() -> None:
    """A timeout that broke something names both."""
    failed = ending(ValueError("half done"), "timeout")

    assert isinstance(failed, HandedBack)
    assert str(failed.error).startswith(
        "timeout: it ran longer than 30 s; then ValueError: half"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            None,
            HandedBack(
                "failed",
                "the handler completed the job in a transaction that was not committed",
            ),
        ),
        (
            Finished("succeeded", "1"),
            HandedBack(
                "failed",
                "the handler completed the job in a transaction that was not committed",
            ),
        ),
        (HandedBack("failed", "late error"), HandedBack("failed", "late error")),
        (Finished("failed", None, "discarded"), Finished("failed", None, "discarded")),
    ],
)
def test_a_job_that_its_handler_completed_is_looked_up_first(
    before: Ending | None, after: Finished | HandedBack
) -> None:
    """If its transaction was not committed, a return is a failure."""
    assert FinishedByHandler(after) == outcome.finished_by_handler(before)
    assert JobLost() == outcome.finished_by_handler(JobLost())


def test_an_unknown_kind_lists_the_known_ones() -> None:
    """The sentence names the kind and the kinds that this application has."""
    missing = outcome.unknown_kind("snd", ("send", "ask"))

    words = "unhandled: no worker of its pool has a handler for kind 'snd'"
    assert f"{words}; this application has: ask, send" == missing.error


@pytest.mark.parametrize(
    "each",
    [
        None,
        Finished("succeeded", "[1]"),
        Finished("failed", None, "why"),
        HandedBack("failed", "why", 2.5),
        HandedBack("snoozed", None, 0.0),
        JobLost(),
    ],
)
def test_an_ending_crosses_to_another_process_unchanged(each: Ending | None) -> None:
    """What a handler's own process decides is what the child writes."""
    assert each == from_line(to_line(each))


@pytest.mark.parametrize(
    ("error", "ending", "will_retry"),
    [
        (ValueError(), HandedBack("failed", "why"), True),
        (fairlead.Discard(), Finished("failed", None, "why"), False),
        (fairlead.Snooze(for_=5), HandedBack("snoozed", None, 5.0), None),
        (fairlead.Cancelled(), Finished("cancelled", None, "why"), None),
        (fairlead.Cancelled(), HandedBack("released", "why"), None),
        (ValueError(), JobLost(), None),
    ],
)
def test_only_failures_are_reported(
    error: BaseException, ending: Ending, *, will_retry: bool | None
) -> None:
    """With whether there are attempts left."""
    found = outcome.failure(error, ending, attempts_left=True)
    last = outcome.failure(error, ending, attempts_left=False)

    assert will_retry == (None if found is None else found.will_retry)
    assert (None if will_retry is None else False) == (
        None if last is None else last.will_retry
    )
