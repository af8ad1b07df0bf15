"""Watch for the moment at which all is done, for a worker that runs until empty."""

from functools import partial
from time import monotonic

from fairlead_worker import parent_store
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.session import Session

_REST_SECONDS = 0.5
_REST_PER_LOOK = 20.0


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

    def over(self, now: float, *, idle: bool) -> bool:
        """Tell whether nothing was left at the last look and nothing has come since."""
        if not idle:
            self._empty = False
        elif not self._looking and not self._empty and now >= self._look_at:
            self._looking = True
            self._lease.ask(self._look)
        return self._empty

    def _look(self, session: Session) -> Reply:
        began = monotonic()
        unfinished = parent_store.unfinished(session)
        return partial(self._seen, unfinished=unfinished, took_seconds=monotonic() - began)

    def _seen(self, *, unfinished: bool, took_seconds: float) -> None:
        self._looking = False
        self._empty = not unfinished
        self._look_at = monotonic() + max(_REST_SECONDS, _REST_PER_LOOK * took_seconds)
