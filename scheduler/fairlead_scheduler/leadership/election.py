"""Leader election by a lease row with an epoch in PostgreSQL.

The database is the authority: every write of a leader names its epoch and does nothing under
another one. Local time only makes a leader stop sooner: it trusts its lease until the start of
its last renewal, plus the lease, minus a margin (as River's `trustedUntil` does).
"""

import threading
from collections.abc import Callable
from time import monotonic

import psycopg

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead_scheduler.settings import SchedulerSettings

_PACKAGE = __package__ or ""


class NoLeaderPossible(Exception):
    """The leader's row cannot be acquired by waiting; the message says why and what to do."""


class LeaderLease:
    """The leader's lease under one epoch, from its take-over until it is released or lost.

    Made by `acquire`; `keep_renewing` renews it on a thread of its own. `over` is set when the
    term ends, and `reason` says why.
    """

    def __init__(
        self, connection: Connection, settings: SchedulerSettings, *, epoch: int, began: float
    ) -> None:
        self.epoch = epoch
        self.over = threading.Event()
        self.reason = ""
        self._connection = connection
        self._settings = settings
        self._trusted_until = self._trust(began)
        self._thread: threading.Thread | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether this process may still act as the leader."""
        return not self.over.is_set() and monotonic() < self._trusted_until

    def keep_renewing(self, ended: Callable[[], None]) -> None:
        """Renew on a daemon thread until the term is over, then call `ended` on that thread."""

        def renewing() -> None:
            try:
                while not self.over.wait(self._settings.renew_seconds):
                    self.renew()
            finally:
                self.end("the lease is no longer renewed")
                ended()

        self._thread = threading.Thread(target=renewing, name="lead", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Extend the lease, or end the term: another epoch leads, or the connection is lost."""
        began = monotonic()
        parameters = {"epoch": self.epoch, "lease_seconds": self._settings.lease_seconds}
        try:
            row = self._connection.execute(
                statements.load(_PACKAGE, "renew"), parameters
            ).fetchone()
        except psycopg.Error as error:
            self.end(f"the lease could not be renewed: {type(error).__name__}")
            return
        if row is None or row[0] is None:
            self.end("another scheduler leads")
        else:
            self._trusted_until = self._trust(began)

    def end(self, reason: str) -> None:
        """End the term; the first reason stands."""
        if not self.over.is_set():
            self.reason = reason
            self.over.set()

    def release(self) -> None:
        """Release the lease, so that a standby takes over at once; call it last.

        A repeat, or a release after another take-over, changes nothing. If it fails, the lease
        lapses by itself. A session in which a renewal hangs is closed.
        """
        self.end("released")
        if self._thread is not None:
            self._thread.join(self._settings.lease_seconds)
            if self._thread.is_alive():
                self._connection.close()
                return
        try:
            self._connection.execute(
                statements.load(_PACKAGE, "release"), {"epoch": self.epoch}
            )
        except psycopg.Error:
            return

    def _trust(self, began: float) -> float:
        return began + self._settings.lease_seconds - self._settings.margin_seconds


def acquire(
    connection: Connection, settings: SchedulerSettings, *, holder: str
) -> LeaderLease | None:
    """Acquire the lease; None while another process's is in force, or another release owns it.

    Args:
        connection: An autocommitting session that only the lease uses from now on.
        settings: The lease and its margin.
        holder: This process's unique name: it may take over from itself at once, as this login.

    Raises:
        NoLeaderPossible: the row must be mended first.
    """
    began = monotonic()
    parameters = {
        "holder": holder,
        "lease_seconds": settings.lease_seconds,
        "release": settings.release,
    }
    row = connection.execute(statements.load(_PACKAGE, "acquire"), parameters).fetchone()
    epoch, fault = row or (None, None)
    if fault is not None:
        raise NoLeaderPossible(
            f"no scheduler can lead: in fairlead.leaders {fault}; an administrator mends it "
            "with `select fairlead.reset_leadership()`"
        )
    if epoch is None:
        return None
    return LeaderLease(connection, settings, epoch=int(str(epoch)), began=began)
