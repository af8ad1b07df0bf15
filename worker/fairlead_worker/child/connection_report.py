"""Which of a child's two connections have been opened, and what the parent is told of it.

A child claims on one connection and stores endings on the other. It is ready once it has had
both: what it claims before that may end and could not be stored. Later the parent is told of
each try that is refused, since this process may be the reason, and when both are open again.
"""

import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from fairlead.db.connect import Connection, Unreachable
from fairlead_worker.ipc.messages import Connected, ConnectionRefused, Ready

Use: TypeAlias = Literal["claims", "endings"]
"""What a connection is for."""


class ConnectionReport:
    """Opens the connections for the threads that need them.

    Args:
        open_one: opens a connection of this name.
        ready: what to send once each has been open.
        send: sends messages to the parent.
    """

    def __init__(
        self,
        open_one: Callable[[str], Connection],
        ready: Ready,
        send: Callable[[Ready | ConnectionRefused | Connected], None],
    ) -> None:
        self._open_one, self._send = open_one, send
        self._once_open: Ready | Connected = ready
        self._missing: set[Use] = {"claims", "endings"}
        self._lock = threading.Lock()

    def open(self, use: Use) -> Connection:
        """Open a connection, in the thread that uses it.

        Raises:
            Unreachable: with one sentence that says why.
        """
        try:
            connection = self._open_one(f"worker {use}")
        except Unreachable as error:
            self._refused(use, str(error))
            raise
        except OSError as error:  # psycopg waits for an answer with a descriptor of its own
            reason = f"cannot reach the database: {error.strerror}"
            self._refused(use, reason)
            raise Unreachable(reason) from error
        self._opened(use)
        return connection

    def _refused(self, use: Use, reason: str) -> None:
        with self._lock:
            self._missing.add(use)
            self._send(ConnectionRefused(reason))

    def _opened(self, use: Use) -> None:
        with self._lock:
            if use in self._missing:
                self._missing.discard(use)
                if not self._missing:
                    self._send(self._once_open)
                    self._once_open = Connected()
