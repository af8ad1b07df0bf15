"""The quarantine runner: runs suspect jobs one at a time, in a child that does nothing else."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

import psycopg

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts import attempt_store
from fairlead_worker.child.connections import Connections
from fairlead_worker.child.intake import Intake
from fairlead_worker.child.slots import Slots
from fairlead_worker.db.reconnect import connections, log_waiting
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_key import Key

_RETRY_SECONDS = 0.2


class QuarantineRunner:
    """Takes the claimer's place: runs the leased attempts that the parent sends.

    The parent sends the next one when it has received `SuspectEnded` for the last one, so that
    a death of this process has exactly one attempt to blame. A job that has died in quarantine
    before is declined unless it is the first one here: what an earlier job left behind must not
    count against it.

    Args:
        connections: opens the connection.
        intake: where attempts go.
        slots: what is held.
        may_store: returns whether the ending of what begins now could be stored.
        send: sends messages to the parent.
        stopped: called when it has stopped and will take nothing more.
    """

    def __init__(
        self,
        connections: Connections,
        *,
        intake: Intake,
        slots: Slots,
        may_store: Callable[[], bool],
        send: Callable[[messages.ToParent], None],
        stopped: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._intake, self._slots, self._say = intake, slots, send
        self._may_store, self._stopped = may_store, stopped
        self._stop = threading.Event()
        self._given: SimpleQueue[Key | None] = SimpleQueue()
        self._next: Key | None = None
        self._held: Key | None = None
        self._count = 0
        self._log = log.get("worker.quarantine")
        self._log_waiting = log_waiting(self._log, LogThrottle())

    # --- called by other threads ------------------------------------------------------------

    def start_claiming(self, worker_id: int) -> None:
        """Ignore the message: this child claims nothing."""
        self._log.debug("start_claiming.unexpected", worker=worker_id)

    def take(self, key: Key) -> None:
        """Run this attempt."""
        self._given.put(key)

    def stop(self) -> None:
        """Take nothing more."""
        self._stop.set()
        self._given.put(None)

    def report_held(self, number: int) -> None:
        """Ignore the message: the parent knows what this child has."""
        self._log.debug("held_tokens_request.unexpected", number=number)

    def wake(self) -> None:
        """Report that the attempt has ended, if it has."""
        if self._held is not None and not self._slots.held:
            self._end(self._held)

    # --- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Run what is sent until stopped."""
        for connection in connections(self._connect, self._stop):
            self._serve(connection)
        self._stopped()

    def _connect(self) -> Connection | None:
        return self._connections.connect("claims", self._stop, self._log_waiting)

    def _serve(self, connection: Connection) -> None:
        """Run attempts on one connection until it is lost; the current one is kept.

        Or until it is useless without the others.
        """
        try:
            while not (self._stop.is_set() or self._connections.is_useless("claims")):
                self._next = self._next or self._given.get()
                if self._next is not None and self._may_store():
                    self._begin(connection, self._next)
                    self._next = None
                elif self._next is not None:
                    self._stop.wait(_RETRY_SECONDS)
        except psycopg.Error as error:
            self._log_waiting(one_line(error), _RETRY_SECONDS)
            self._stop.wait(_RETRY_SECONDS)

    def _begin(self, connection: Connection, key: Key) -> None:
        found = attempt_store.begin_in_quarantine(connection, key)
        if found is None:
            self._log.warning("attempt.stale", job=key[0], token=key[1])
            self._end(key)
        elif found.died_in_quarantine and self._count:
            self._say(messages.SuspectDeclined(*key))
        else:
            self._count += 1
            self._held = key  # before the attempt is, since it may end at once
            orphans = self._intake.accept(connection, [found.row], in_quarantine=True)
            if orphans:
                attempt_store.release_orphans(connection, orphans)
                self._end(key)

    def _end(self, key: Key) -> None:
        self._held = None
        self._say(messages.SuspectEnded(*key))
