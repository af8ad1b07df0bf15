"""Find out when everything is done, for a worker that runs until empty.

While it waits for others it logs for what, twice a minute: a paused queue, or one for which no
scheduler runs, would keep it for ever.
"""

from functools import partial
from time import monotonic

from fairlead.runtime import log
from fairlead_worker.db.session import Session
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.lease_thread import LeaseThread, Reply

_REST_SECONDS = 0.5
_REST_PER_QUERY = 20.0
_LOG_AFTER_SECONDS, _LOG_AGAIN_SECONDS = 3.0, 30.0


class UntilEmpty:
    """Asks the database, gently, and only while this worker has nothing to do.

    Args:
        lease: runs the database calls.
    """

    def __init__(self, lease: LeaseThread) -> None:
        self._lease = lease
        self._asking = False
        self._ask_at = 0.0
        self._empty = False
        self._log_at: float | None = None  # None: this worker has something to do
        self._log = log.get("worker.until_empty")

    def check(self, now: float, *, idle: bool) -> bool:
        """Return whether nothing was left at the last query and nothing has come since."""
        if not idle:
            self._empty = False
            self._log_at = None
        elif not self._asking and not self._empty and now >= self._ask_at:
            self._asking = True
            self._lease.submit(self._ask)
        return self._empty

    def _ask(self, session: Session) -> Reply:
        began = monotonic()
        unfinished, log_at = worker_store.unfinished(session), self._log_at
        if unfinished and log_at is not None and began >= log_at:
            self._log_at = began + _LOG_AGAIN_SECONDS
            self._log_awaited(worker_store.awaited(session))
        return partial(self._answered, unfinished=unfinished, took_seconds=monotonic() - began)

    def _answered(self, *, unfinished: bool, took_seconds: float) -> None:
        self._asking = False
        self._empty = not unfinished
        if self._log_at is None:
            self._log_at = monotonic() + _LOG_AFTER_SECONDS
        self._ask_at = monotonic() + max(_REST_SECONDS, _REST_PER_QUERY * took_seconds)

    def _log_awaited(self, queues: dict[str, bool]) -> None:
        """Log what is waited for; no queue at all: attempts that are to be tried again."""
        paused = [queue for queue, is_paused in queues.items() if is_paused]
        self._log.info("until_empty.waiting", queues=list(queues), paused=paused)
