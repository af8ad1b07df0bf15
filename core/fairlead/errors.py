"""Exceptions that a handler raises to end its attempt, and those that Fairlead raises in it.

Any other exception is a failure: the job runs again after its backoff, until its attempts are
used up.
"""

from datetime import timedelta
from typing import SupportsFloat

STALE_SQLSTATE, OVER_BACKLOG_SQLSTATE = "FL001", "FL005"
_DAY_SECONDS = 86_400.0
DELAY_SECONDS_MAX = 365 * _DAY_SECONDS


class Retry(Exception):
    """The attempt failed; run the job again after a delay of the handler's choice.

    It uses up an attempt, as every failure does: the last one fails the job for good.

    Args:
        reason: what went wrong, for the log of attempts.
        after: seconds from now, or a timedelta, up to a year; None is the usual backoff.

    Raises:
        ValueError: the delay is negative or over a year.
    """

    def __init__(self, reason: str = "", *, after: float | timedelta | None = None) -> None:
        super().__init__(reason)
        self.after_seconds = None if after is None else _seconds("after", after)


class Discard(Exception):
    """The job can never succeed: it has failed for good, whatever attempts it has left.

    Args:
        reason: why, for people; it is kept as the job's error.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


class Snooze(Exception):
    """It is too early: run the job again later, without using up an attempt.

    Args:
        for_: seconds from now, or a timedelta, up to a year.

    Raises:
        ValueError: the delay is negative or over a year.
    """

    def __init__(self, *, for_: float | timedelta) -> None:
        self.for_seconds = _seconds("for_", for_)
        super().__init__(f"again in {self.for_seconds:g} s")


class Cancelled(Exception):
    """The attempt has to stop: see `Job.cancelled`."""


class StaleToken(Exception):
    """The attempt no longer holds its job: another attempt does, or the job is finished.

    Do not catch it: the transaction must roll back, and nothing that this attempt still does
    counts.
    """


class InvalidPayload(ValueError):
    """A payload does not fit its handler; the message is one sentence with the field.

    In a handler's attempt it is a failure like another: the job is tried again, since a worker
    of the next release may fit.
    """


class OverBacklog(Exception):
    """A job was refused: its tenant or its queue has too many unfinished ones.

    Nothing of its statement was inserted, and the transaction can only be rolled back, or back
    to a savepoint. Insert again when some have ended; the policy's `backlog` has the limit.
    """


def caused_by(error: BaseException, sqlstate: str) -> BaseException | None:
    """Return the database's error with this SQLSTATE in a chain of causes; None: there is none.

    It works with any driver, and with libraries that wrap the driver's errors.
    """
    cause: BaseException | None = error
    while cause is not None:
        if sqlstate == (getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)):
            return cause
        cause = cause.__cause__
    return None


def seconds(name: str, value: float | timedelta, *, at_most: float) -> float:
    """Return a duration in seconds.

    Raises:
        TypeError: it is no duration; the sentence names it.
        ValueError: it is negative, NaN or over the bound; so does this one.
    """
    check_is_duration(name, value)
    number = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not 0 <= number <= at_most:
        raise ValueError(
            f"{name} must be 0 to {at_most:g} seconds, not {number:g}: "
            "give seconds or a timedelta"
        )
    return number


def check_is_duration(name: str, value: object) -> None:
    """Refuse what an untyped caller may give, such as the text "30s".

    Raises:
        TypeError: it is neither a number nor a timedelta; the sentence names it.
    """
    if isinstance(value, float | int | timedelta) and not isinstance(value, bool):
        return  # as nearly always; the next question takes microseconds
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError(f"{name} is {value!r}: give seconds or a timedelta")


def _seconds(name: str, value: float | timedelta) -> float:
    return seconds(name, value, at_most=DELAY_SECONDS_MAX)
