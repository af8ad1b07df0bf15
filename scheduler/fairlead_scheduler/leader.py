"""One scheduler leads, by a lease row with an epoch in PostgreSQL.

The database is the authority: every write of a leader names its epoch and does nothing under
another one. Local time is only a reason to stop sooner: a leader trusts its lease until its
last renewal *began*, plus the lease, minus a margin (as River's `trustedUntil` does).
"""

import threading
from collections.abc import Callable
from time import monotonic

import psycopg

from fairlead import sql
from fairlead.store import Connection
from fairlead_scheduler.settings import SchedulerSettings

_PACKAGE = __package__ or ""


class Lead:
    """The lead under one epoch, from a take-over until it is released, lost or deposed.

    Made by `take_over`; `keep` renews it on a thread of its own.
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
    def trusted(self) -> bool:
        """Whether this process may still act as the leader."""
        return not self.over.is_set() and monotonic() < self._trusted_until

    def keep(self, ended: Callable[[], None]) -> None:
        """Renew on a daemon thread until the term is over, and call `ended` from it then."""

        def renewing() -> None:
            while not self.over.wait(self._settings.renew_seconds):
                self.renew()
            ended()

        self._thread = threading.Thread(target=renewing, name="lead", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Extend the lease, or end the term: another epoch leads, or the connection is lost."""
        began = monotonic()
        parameters = {"epoch": self.epoch, "lease_seconds": self._settings.lease_seconds}
        try:
            row = self._connection.execute(sql.load(_PACKAGE, "renew"), parameters).fetchone()
        except psycopg.Error as error:
            self.end(f"the lead could not be renewed: {type(error).__name__}")
            return
        if row is None:
            self.end("another scheduler leads")
        else:
            self._trusted_until = self._trust(began)

    def end(self, reason: str) -> None:
        """Say that the term is over; the first reason stands."""
        if not self.over.is_set():
            self.reason = reason
            self.over.set()

    def release(self) -> None:
        """Give the lead up, so that a standby takes over at once; call it last.

        A repeat, or a release after somebody else took over, changes nothing. If it fails, the
        lease lapses by itself.
        """
        self.end("released")
        if self._thread is not None:
            self._thread.join(self._settings.lease_seconds)
            if self._thread.is_alive():
                return
        try:
            self._connection.execute(sql.load(_PACKAGE, "release"), {"epoch": self.epoch})
        except psycopg.Error:
            return

    def _trust(self, began: float) -> float:
        return began + self._settings.lease_seconds - self._settings.margin_seconds


def take_over(
    connection: Connection, settings: SchedulerSettings, *, holder: str
) -> Lead | None:
    """Lead, if nobody does; None while somebody else's lease is in force.

    Args:
        connection: An autocommitting session that belongs to the lead from now on.
        settings: The lease and its margin.
        holder: This process, by a name that no other has: it may follow itself at once.
    """
    began = monotonic()
    parameters = {"holder": holder, "lease_seconds": settings.lease_seconds}
    row = connection.execute(sql.load(_PACKAGE, "take_over"), parameters).fetchone()
    if row is None:
        return None
    return Lead(connection, settings, epoch=int(str(row[0])), began=began)
