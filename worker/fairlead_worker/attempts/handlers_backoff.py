"""The wait that a handler's own `backoff` gives a failed attempt's job."""

from dataclasses import replace

from fairlead.runtime import log
from fairlead.tasks import Handler
from fairlead_worker.attempts.outcome import Ending, HandedBack
from fairlead_worker.attempts.traceback_text import clean, message_of

_LOG = log.get("worker.backoff")


def delayed(ending: Ending, handler: Handler, attempt: int) -> Ending:
    """Return an ending with the wait that the handler gives it, if it is for this to say.

    `Retry` names its own. A function of the application that raises, or that answers nonsense,
    is logged, and the job waits as one without: a fault there fails no job.
    """
    if (
        handler.backoff is None
        or not isinstance(ending, HandedBack)
        or ending.ended_as != "failed"
        or ending.delay_seconds is not None
    ):
        return ending
    try:
        return replace(ending, delay_seconds=handler.backoff(attempt))
    except Exception as error:  # noqa: BLE001 - an application's function may raise whatever
        reason = clean(f"{type(error).__qualname__}: {message_of(error)}")
        _LOG.error("backoff.failed", kind=handler.kind, attempt=attempt, reason=reason)
        return ending
