"""Which of a child's two connections have been opened, and what the parent is told of it.

A child claims on one connection and stores endings on the other. It is ready once it has had
both: what it claims before that may end and could not be stored.
"""

import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from fairlead.db.connect import Connection
from fairlead_worker.ipc.messages import Ready

Use: TypeAlias = Literal["claims", "endings"]
"""What a connection is for."""


class ConnectionReport:
    """Opens the connections for the threads that need them.

    Args:
        open_one: opens a connection of this name.
        ready: what to send once each has been open.
        send: sends it to the parent.
    """

    def __init__(
        self,
        open_one: Callable[[str], Connection],
        ready: Ready,
        send: Callable[[Ready], None],
    ) -> None:
        self._open_one, self._ready, self._send = open_one, ready, send
        self._missing: set[Use] = {"claims", "endings"}
        self._lock = threading.Lock()

    def open(self, use: Use) -> Connection:
        """Open a connection, in the thread that uses it.

        Raises:
            Unreachable: with one sentence that says why.
        """
        connection = self._open_one(f"worker {use}")
        with self._lock:
            if use in self._missing:
                self._missing.discard(use)
                if not self._missing:
                    self._send(self._ready)
        return connection
