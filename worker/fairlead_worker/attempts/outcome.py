"""How an attempt ends, from what its handler returned or raised.

Pure, but for the lines of source in the text of an error: a value or an exception goes in, an
ending comes out. The ending of a plain success, as
most attempts have it, is None: it costs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fairlead import errors, jsontext
from fairlead_worker.attempts.traceback_text import clean, describe, message_of, with_causes

Outcome: TypeAlias = Literal["succeeded", "failed", "cancelled", "expired"]
EndedAs: TypeAlias = Literal[
    "failed", "snoozed", "returned", "released", "crashed", "unhandled"
]
Stop: TypeAlias = Literal["cancelled", "timeout", "released", "evicted", "lost", "expired"]
"""Why a handler was stopped; `expired` stops none that has begun."""

_CUT_SHORT: Mapping[Stop | None, str] = {
    "released": "its worker was stopped before it was done",
    "evicted": "it was asked to stop so that another tenant could run",
}
_CONTROL_ERRORS = (errors.Discard, errors.Retry, errors.Snooze)


@dataclass(frozen=True, slots=True)
class Finished:
    """The job is to be finished with this outcome."""

    outcome: Outcome
    result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The attempt ends and the job does not; the database decides the job's next state."""

    ended_as: EndedAs
    error: str | None = None
    delay_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class FinishedByHandler:
    """The handler claims to have finished the job itself; `or_else` holds if not."""

    or_else: HandedBack | Finished


@dataclass(frozen=True, slots=True)
class JobLost:
    """Nothing may be stored: the attempt has lost its job."""


Ending: TypeAlias = Finished | HandedBack | FinishedByHandler | JobLost

_NOT_COMMITTED = HandedBack(
    "failed", "the handler completed the job in a transaction that was not committed"
)


def from_value(value: object) -> Ending | None:
    """Return the ending of an attempt whose handler returned; None: plain success."""
    if value is None:
        return None
    try:
        return Finished("succeeded", jsontext.encode("result", value))
    except ValueError as error:
        return Finished("failed", None, clean(str(error)))


def finished_by_handler(ending: Ending | None) -> Ending:
    """Return the ending of an attempt whose handler claims to have finished the job itself."""
    match ending:
        case JobLost() | FinishedByHandler():
            return ending
        case HandedBack() | Finished(outcome="failed" | "cancelled" | "expired"):
            return FinishedByHandler(ending)
        case _:
            return FinishedByHandler(_NOT_COMMITTED)


def unstarted(stop: Stop) -> Ending:
    """Return the ending of an attempt that was stopped before its handler began."""
    match stop:
        case "cancelled":
            return Finished("cancelled", None, "cancelled before it started")
        case "expired":
            return Finished("expired", None, "it expired while it waited to run")
        case "lost":
            return JobLost()
        case _:
            return HandedBack("returned")


def from_error(error: BaseException, stop: Stop | None, timeout_seconds: float) -> Ending:
    """Return the ending of an attempt whose handler raised; `stop` is why it was stopped."""
    return JobLost() if stop == "lost" else _of_error(error, stop, timeout_seconds)


def _of_error(
    error: BaseException, stop: Stop | None, timeout_seconds: float
) -> Finished | HandedBack:
    if stop == "cancelled":
        return Finished("cancelled", None, "cancelled while it ran")
    if stop in _CUT_SHORT:
        return HandedBack("released", _CUT_SHORT[stop])
    if stop == "timeout" and not isinstance(error, _CONTROL_ERRORS):
        return HandedBack("failed", _timed_out(error, timeout_seconds))
    match error:
        case errors.Discard():
            return Finished(
                "failed", None, with_causes(message_of(error) or "discarded", error)
            )
        case errors.Snooze():
            return HandedBack("snoozed", None, error.for_seconds)
        case _:
            after_seconds = error.after_seconds if isinstance(error, errors.Retry) else None
            return HandedBack("failed", describe(error), after_seconds)


def _timed_out(error: BaseException, timeout_seconds: float) -> str:
    sentence = f"timeout: it ran longer than {timeout_seconds:g} s"
    return (
        sentence if _stopped_as_asked(error) else clean(f"{sentence}; then {describe(error)}")
    )


def _stopped_as_asked(error: BaseException) -> bool:
    """Return whether a handler that was stopped did just that."""
    # A coroutine's CancelledError is no Exception; of those, only ours means that.
    return not isinstance(error, Exception) or isinstance(error, errors.Cancelled)


@dataclass(frozen=True, slots=True)
class Failure:
    """What to report of an attempt that has failed."""

    error: BaseException
    will_retry: bool
    """Whether there are attempts left; the database decides."""


def failure(
    error: BaseException,
    ending: Ending | None,
    *,
    attempts_left: bool,
    timed_out_seconds: float | None = None,
) -> Failure | None:
    """Return what to report of an exception, given the ending that `from_error` made of it.

    None: the attempt has not failed, but was put off, cancelled or cut short. A handler that
    stopped because its time was up, so many seconds, has failed with a TimeoutError.
    """
    if timed_out_seconds is not None and _stopped_as_asked(error):
        late = TimeoutError(f"it ran longer than {timed_out_seconds:g} s")
        late.__cause__ = error
        error = late.with_traceback(error.__traceback__)
    match ending:
        case HandedBack(ended_as="failed"):
            return Failure(error, will_retry=attempts_left)
        case Finished(outcome="failed"):
            return Failure(error, will_retry=False)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class TraceOutcome:
    """What a trace records of an ending."""

    ended_as: str
    failed: bool = False
    error: str | None = None


def trace_outcome(ending: Ending | None) -> TraceOutcome:
    """Return what a trace records of an ending.

    Of a handler that finished its job itself, this is how the handler ended.
    """
    match ending:
        case None:
            return TraceOutcome("succeeded")
        case JobLost():
            return TraceOutcome("lost")
        case FinishedByHandler(or_else=other):
            return (
                TraceOutcome("succeeded") if other is _NOT_COMMITTED else trace_outcome(other)
            )
        case Finished(outcome=how, error=error):
            return TraceOutcome(how, how == "failed", error)
        case HandedBack(ended_as=how, error=error):
            return TraceOutcome(how, how in {"failed", "crashed"}, error)


def unknown_kind(kind: str, kinds: tuple[str, ...]) -> HandedBack:
    """Return the ending of a job for which this application has no handler.

    The database decides whether another worker may have one; the error is for when none has.
    """
    known = ", ".join(sorted(kinds)) or "none"
    sentence = f"no worker of its pool has a handler for kind {kind!r}"
    return HandedBack(
        "unhandled", clean(f"unhandled: {sentence}; this application has: {known}")
    )
