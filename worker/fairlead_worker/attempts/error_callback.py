"""Report failures to the application: `Tasks(on_error=…)`."""

from fairlead.job import Job
from fairlead.runtime import log
from fairlead.tasks import OnError
from fairlead_worker.attempts.outcome import Failure


class ErrorCallback:
    """Calls the application's `on_error`; from any thread that runs handlers.

    Args:
        on_error: what to call; None: the application has no callback.
    """

    def __init__(self, on_error: OnError | None) -> None:
        self._on_error = on_error
        self._log = log.get("worker.on_error")

    def report(self, job: Job, failure: Failure) -> None:
        """Report one failure. Whatever the callback raises is logged, and changes nothing."""
        if self._on_error is None:
            return
        try:
            self._on_error(job, failure.error, will_retry=failure.will_retry)
        except BaseException:  # noqa: BLE001 - it is the application's, as handlers are
            self._log.exception("on_error.failed", job=job.id, kind=job.kind)
