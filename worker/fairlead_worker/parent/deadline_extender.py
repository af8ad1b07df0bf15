"""Extend the deadlines of attempts that wait for a quarantine process.

An attempt's deadline is set when it is claimed. A suspect job may wait longer than that, and
the leader would take it away as overdue although its worker lives and will run it. Waiting
attempts are also marked as not begun, so that losing the worker does not count as a death in
quarantine.
"""

from collections.abc import Callable
from functools import partial

from fairlead_worker.config import WorkerConfig
from fairlead_worker.db.session import Session
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.lease_thread import LeaseThread, Reply


class DeadlineExtender:
    """Extends deadlines when an attempt begins to wait, and as often as the lease is renewed.

    Args:
        config: the worker's settings.
        lease: runs the database calls.
        waiting: returns the attempts that wait.
    """

    def __init__(
        self, config: WorkerConfig, lease: LeaseThread, waiting: Callable[[], tuple[Key, ...]]
    ) -> None:
        self._config, self._lease, self._waiting = config, lease, waiting
        self._extended: frozenset[Key] = frozenset()
        self._extend_at = 0.0
        self.under_way: frozenset[Key] = frozenset()
        """What must not begin now, or it would count as waiting after it has begun."""

    def advance(self, now: float) -> None:
        """Extend the deadlines of what waits, when it is time."""
        waiting = frozenset(self._waiting()) if not self.under_way else frozenset[Key]()
        if waiting and (now >= self._extend_at or not waiting <= self._extended):
            self._extended = self.under_way = waiting
            self._extend_at = now + self._config.worker_renew_seconds
            self._lease.submit(partial(self._extend, waiting))

    def _extend(self, waiting: frozenset[Key], session: Session) -> Reply:
        worker_store.keep_deadlines(session, waiting, self._config.worker_lease_seconds)
        return self._done

    def _done(self) -> None:
        self.under_way = frozenset()
