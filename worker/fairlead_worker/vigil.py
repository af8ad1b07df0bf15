"""Watch for the moment at which all is done, for a worker that runs until empty.

While it waits for others it says for what, twice a minute: a queue that is paused, or for which
no scheduler runs, would keep it for ever.
"""

from functools import partial
from time import monotonic

from fairlead import log
from fairlead_worker import parent_store
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.session import Session

_REST_SECONDS = 0.5
_REST_PER_LOOK = 20.0
_TELL_AFTER_SECONDS, _TELL_AGAIN_SECONDS = 3.0, 30.0


class Vigil:
    """Asks the database, gently, and only while this worker has nothing to do.

    Args:
        lease: runs the errands.
    """

    def __init__(self, lease: LeaseThread) -> None:
        self._lease = lease
        self._looking = False
        self._look_at = 0.0
        self._empty = False
        self._tell_at: float | None = None  # None: it has something to do itself
        self._log = log.get("worker.vigil")

    def over(self, now: float, *, idle: bool) -> bool:
        """Tell whether nothing was left at the last look and nothing has come since."""
        if not idle:
            self._empty = False
            self._tell_at = None
        elif not self._looking and not self._empty and now >= self._look_at:
            self._looking = True
            self._lease.ask(self._look)
        return self._empty

    def _look(self, session: Session) -> Reply:
        began = monotonic()
        unfinished, tell_at = parent_store.unfinished(session), self._tell_at
        if unfinished and tell_at is not None and began >= tell_at:
            self._tell_at = began + _TELL_AGAIN_SECONDS
            self._tell(parent_store.awaited(session))
        return partial(self._seen, unfinished=unfinished, took_seconds=monotonic() - began)

    def _seen(self, *, unfinished: bool, took_seconds: float) -> None:
        self._looking = False
        self._empty = not unfinished
        if self._tell_at is None:
            self._tell_at = monotonic() + _TELL_AFTER_SECONDS
        self._look_at = monotonic() + max(_REST_SECONDS, _REST_PER_LOOK * took_seconds)

    def _tell(self, queues: dict[str, bool]) -> None:
        """Say what is waited for; no queue at all: attempts that are to be tried again."""
        paused = [queue for queue, is_paused in queues.items() if is_paused]
        self._log.info("worker.waits_for_others", queues=list(queues), paused=paused)
