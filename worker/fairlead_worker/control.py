"""The child's end of the control socket: say things to the parent, and hear it."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from fairlead_worker import wire


class Control:
    """Messages to and from the parent.

    Args:
        descriptor: the socket that was inherited.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._lock = threading.Lock()

    def say(self, message: wire.ToParent) -> None:
        """Send a message, from any thread; to a parent that has gone, nothing."""
        line = wire.to_parent(message)
        with self._lock, contextlib.suppress(OSError):  # its end is seen by `messages`
            self._socket.sendall(line)

    def messages(self) -> Iterator[wire.ToChild]:
        """Yield what the parent says, until it hangs up."""
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                yield wire.from_parent(line)
