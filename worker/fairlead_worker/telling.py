"""Tell the application what has failed: `Tasks(on_error=…)`."""

from fairlead import log
from fairlead.job import Job
from fairlead.tasks import OnError
from fairlead_worker.outcome import Failure


class Teller:
    """Calls the application's `on_error`; from any thread that runs handlers.

    Args:
        on_error: what to call; None: nobody asks.
    """

    def __init__(self, on_error: OnError | None) -> None:
        self._on_error = on_error
        self._log = log.get("worker.on_error")

    def tell(self, job: Job, failure: Failure) -> None:
        """Tell of one failure. Whatever that raises is logged, and changes nothing."""
        if self._on_error is None:
            return
        try:
            self._on_error(job, failure.error, will_retry=failure.will_retry)
        except BaseException:  # noqa: BLE001 - it is the application's, as handlers are
            self._log.exception("on_error.failed", job=job.id, kind=job.kind)
