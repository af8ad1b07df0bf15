"""Run one attempt that is leased already, in a child that does nothing else."""

import threading
from collections.abc import Callable

import psycopg

from fairlead import log, store
from fairlead.store import Connection
from fairlead_worker import child_store
from fairlead_worker.child_store import Key
from fairlead_worker.intake import Intake

_AGAIN_SECONDS = 0.2


class Loner:
    """Stands in the claimer's place: takes one attempt, by its id and token, and stops.

    Args:
        open_one: opens a connection.
        key: the attempt.
        intake: where it goes.
        reached: called when the database was reached.
        stopped: called when the attempt is taken, or does not hold its job any more.
    """

    def __init__(
        self,
        open_one: Callable[[], Connection],
        key: Key,
        *,
        intake: Intake,
        reached: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._open_one, self._key = open_one, key
        self._intake = intake
        self._reached, self._stopped = reached, stopped
        self._going, self._stop = threading.Event(), threading.Event()
        self._log = log.get("worker.alone")

    def go(self) -> None:
        """Begin."""
        self._going.set()

    def stop(self) -> None:
        """Take nothing, if nothing was taken yet."""
        self._stop.set()
        self._going.set()

    def roll(self, number: int) -> None:
        """Answer no roll: the parent knows what this child has."""
        self._log.debug("roll.unexpected", number=number)

    def look(self) -> None:
        """Look for nothing more."""

    def run(self) -> None:
        """Take the attempt, as soon as the parent says so."""
        taken = False
        while not taken and not self._stop.is_set():
            connection = store.connect_patiently(self._open_one, self._stop, self._waits)
            if connection is not None:
                with connection:
                    taken = self._take(connection)
        self._stopped()

    def _take(self, connection: Connection) -> bool:
        self._reached()
        self._going.wait()
        if self._stop.is_set():
            return True
        try:
            row = child_store.load_alone(connection, self._key)
        except psycopg.Error as error:
            self._waits(" ".join(str(error).split()), _AGAIN_SECONDS)
            self._stop.wait(_AGAIN_SECONDS)
            return False
        if row is None:
            self._log.warning("attempt.stale", job=self._key[0], token=self._key[1])
            return True
        orphans = self._intake.accept([row], alone=True)
        if orphans:
            child_store.drop_orphans(connection, orphans)
        return True

    def _waits(self, why: str, rest_seconds: float) -> None:
        self._log.warning("database.waiting", why=why, rest_seconds=round(rest_seconds, 3))
