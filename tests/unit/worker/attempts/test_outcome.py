"""What a handler returned or raised decides how its attempt ends."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

import fairlead
from fairlead.job import UnreadablePayload
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.outcome import (
    ERROR_BYTES_MAX,
    Ending,
    Finished,
    FinishedByHandler,
    HandedBack,
    JobLost,
    Stop,
)
from fairlead_worker.isolated.process_runner import from_line, to_line
from tests.support.attempts import claimed


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueError("x" * 100_000),
        lambda: ValueError("ü" * 100_000),
        lambda: ValueError("nul \0 and half \ud83d" * 3000),
    ],
)
def test_an_errors_text_is_bounded_and_storable(make: Callable[[], Exception]) -> None:
    """At most 4 KiB, no NUL, no half surrogate, and the frames stay."""
    text = outcome.describe(raised(make()))

    assert ERROR_BYTES_MAX >= len(text.encode())
    assert "\0" not in text
    assert "in raised" in text


def dig(depth: int) -> None:
    """Raise an error so many calls further down."""
    if depth == 0:
        raise ValueError("at the bottom")
    dig(depth - 1)


def dug(depth: int) -> list[str]:
    """Return the names of the functions in the text of an error from so deep down."""
    with pytest.raises(ValueError, match="bottom") as caught:
        dig(depth)
    lines = outcome.describe(caught.value).splitlines()[1:]
    return [line.rpartition(" in ")[2].strip() for line in lines]


def test_a_deep_error_shows_where_it_came_from_and_where_it_happened() -> None:
    """The first frame of the handler's own code stays, and the last five."""
    assert ["dug", "…", *["dig"] * 5] == dug(30)
    assert ["dug", *["dig"] * 5] == dug(4)


def test_frames_of_fairlead_before_the_handlers_own_are_left_out() -> None:
    """The reader of the error has written the handler, and not what calls it."""
    scope: dict[str, object] = {"__name__": "fairlead_worker.child.executor", "dig": dig}
    exec("def begin():\n    dig(1)", scope)  # noqa: S102 - a frame of Fairlead's, as it were
    begin = scope["begin"]
    assert callable(begin)
    with pytest.raises(ValueError, match="bottom") as caught:
        begin()
    of_fairlead = caught.value.with_traceback(caught.tb.tb_next)

    text = outcome.describe(of_fairlead)

    assert "in begin" not in text
    assert 2 == text.count("in dig")


def test_an_error_of_fairlead_alone_keeps_its_frames() -> None:
    """A bug of ours is shown with its place."""
    scope: dict[str, object] = {"__name__": "fairlead.job"}
    exec("def read():\n    raise ValueError('ours')", scope)  # noqa: S102 - a frame of Fairlead's
    read = scope["read"]
    assert callable(read)
    with pytest.raises(ValueError, match="ours") as caught:
        read()

    assert "in read" in outcome.describe(caught.value.with_traceback(caught.tb.tb_next))


def test_long_paths_do_not_push_the_last_frames_out() -> None:
    """Each frame's line is bounded, and what is cut is the beginning of its path."""
    path = "/" + "/".join("ä" * 200 for _ in range(20)) + "/shop.py"
    scope: dict[str, object] = {"__name__": "shop"}
    exec(compile("def far(n):\n    far(n - 1) if n else 1 / 0", path, "exec"), scope)  # noqa: S102 - a path of any length
    far = scope["far"]
    assert callable(far)
    with pytest.raises(ZeroDivisionError) as caught:
        far(20)

    text = outcome.describe(caught.value)

    assert ERROR_BYTES_MAX >= len(text.encode())
    assert 5 <= text.count("/shop.py:2 in far")


def test_an_error_without_a_message_is_shown_all_the_same() -> None:
    """An exception's own code may fail too, and must not take the attempt's ending with it."""

    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert outcome.describe(raised(UnprintableError())).startswith(
        "test_an_error_without_a_message_is_shown_all_the_same.<locals>.UnprintableError: "
        "(its message cannot be read: RuntimeError)"
    )


def test_an_unknown_kind_lists_the_known_ones() -> None:
    """The sentence names the kind and the kinds that this application has."""
    missing = outcome.unknown_kind("snd", ("send", "ask"))

    assert "no handler for kind 'snd'; this application has: ask, send" == missing.error


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
    row = claimed(1, 10)

    found = outcome.failure(error, ending, row)
    last = outcome.failure(error, ending, row._replace(attempt=row.max_attempts))

    assert will_retry == (None if found is None else found.will_retry)
    assert (None if will_retry is None else False) == (
        None if last is None else last.will_retry
    )
