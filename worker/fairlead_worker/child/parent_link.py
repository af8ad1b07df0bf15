"""The child's end of the control socket: sends messages to the parent, and reads its own."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from fairlead_worker.ipc import messages


class ParentLink:
    """Messages to and from the parent.

    Args:
        descriptor: the socket that was inherited.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._lock = threading.Lock()

    def send(self, message: messages.ToParent) -> None:
        """Send a message, from any thread; to a parent that has gone, nothing."""
        line = messages.to_parent(message)
        with self._lock, contextlib.suppress(OSError):  # its end is seen by `messages`
            self._socket.sendall(line)

    def messages(self) -> Iterator[messages.ToChild]:
        """Yield the parent's messages, until it hangs up."""
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                yield messages.from_parent(line)
