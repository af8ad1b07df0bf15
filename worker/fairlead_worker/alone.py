"""Run attempts that are leased already, one at a time, in a child that does nothing else."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

import psycopg

from fairlead import log
from fairlead.reminder import Reminder
from fairlead.store import Connection
from fairlead_worker import child_store, wire
from fairlead_worker.connecting import sessions, tell_waiting
from fairlead_worker.intake import Intake
from fairlead_worker.keys import Key
from fairlead_worker.slots import Slots

_AGAIN_SECONDS = 0.2


class Loner:
    """Stands in the claimer's place: takes the attempts that the parent gives it.

    The parent gives the next one when it has heard that the last one `Ended`, so that a death
    of this process has one attempt to blame, and that one only. A job that has died alone
    before is declined unless it is the first one here: what an earlier job left behind must
    not count against it.

    Args:
        open_one: opens a connection.
        intake: where attempts go.
        slots: what is held.
        say: speaks to the parent.
        reached: called when the database was reached.
        stopped: called when it has stopped and will take nothing more.
    """

    def __init__(
        self,
        open_one: Callable[[], Connection],
        *,
        intake: Intake,
        slots: Slots,
        say: Callable[[wire.ToParent], None],
        reached: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._open_one = open_one
        self._intake, self._slots, self._say = intake, slots, say
        self._reached, self._stopped = reached, stopped
        self._stop = threading.Event()
        self._given: SimpleQueue[Key | None] = SimpleQueue()
        self._next: Key | None = None
        self._held: Key | None = None
        self._count = 0
        self._log = log.get("worker.alone")
        self._waits = tell_waiting(self._log, Reminder())

    # --- called by other threads ------------------------------------------------------------

    def go(self, worker_id: int) -> None:
        """Claim nothing all the same."""
        self._log.debug("go.unexpected", worker=worker_id)

    def take(self, key: Key) -> None:
        """Run this attempt."""
        self._given.put(key)

    def stop(self) -> None:
        """Take nothing more."""
        self._stop.set()
        self._given.put(None)

    def roll(self, number: int) -> None:
        """Answer no roll: the parent knows what this child has."""
        self._log.debug("roll.unexpected", number=number)

    def look(self) -> None:
        """Say that the attempt has ended, if it has."""
        if self._held is not None and not self._slots.held:
            self._end(self._held)

    # --- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Take what is given until told to stop."""
        for connection in sessions(self._open_one, self._stop, self._waits):
            self._serve(connection)
        self._stopped()

    def _serve(self, connection: Connection) -> None:
        """Take attempts on one connection until it is lost; the one in hand is kept."""
        self._reached()
        try:
            while not self._stop.is_set():
                self._next = self._next or self._given.get()
                if self._next is not None:
                    self._begin(connection, self._next)
                    self._next = None
        except psycopg.Error as error:
            self._waits(" ".join(str(error).split()), _AGAIN_SECONDS)
            self._stop.wait(_AGAIN_SECONDS)

    def _begin(self, connection: Connection, key: Key) -> None:
        found = child_store.begin_alone(connection, key)
        if found is None:
            self._log.warning("attempt.stale", job=key[0], token=key[1])
            self._end(key)
        elif found.died_alone and self._count:
            self._say(wire.Declined(*key))
        else:
            self._count += 1
            self._held = key  # before the attempt is, since it may end at once
            orphans = self._intake.accept(connection, [found.row], alone=True)
            if orphans:
                child_store.drop_orphans(connection, orphans)
                self._end(key)

    def _end(self, key: Key) -> None:
        self._held = None
        self._say(wire.Ended(*key))
