"""Wake a loop that rests in select, from another thread or from a signal's handler."""

import contextlib
import select
import socket
from collections.abc import Sequence

_SELECTABLE = 1024
"""`select` knows descriptors below this one."""


class Bell:
    """A loop waits for it as for any descriptor; ringing it twice is the same as once."""

    def __init__(self) -> None:
        self._hears, self._rings = socket.socketpair()
        self._hears.settimeout(0)
        self._rings.settimeout(0)

    def fileno(self) -> int:
        """Return what to wait for."""
        return self._hears.fileno()

    def signal_descriptor(self) -> int:
        """Return what `signal.set_wakeup_fd` may write to."""
        return self._rings.fileno()

    def ring(self) -> None:
        """End the present wait, or the next one."""
        with contextlib.suppress(BlockingIOError):  # full: it will wake anyway
            self._rings.send(b"!")

    def hush(self) -> None:
        """Take the rings so far, so that the next wait waits."""
        with contextlib.suppress(BlockingIOError):
            while self._hears.recv(4096):
                pass

    def wait(self, seconds: float, *, beside: int) -> None:
        """Wait for a ring, for another descriptor to have something, or so long; then hush."""
        if self.fileno() in _readable((self.fileno(), beside), seconds):
            self.hush()

    def close(self) -> None:
        """Let go of both ends. Nobody may ring or wait any more."""
        self._hears.close()
        self._rings.close()


def _readable(descriptors: Sequence[int], seconds: float) -> list[int]:
    """Return those that have something to read, after a wait of at most so long.

    By `select` where it will do, since it knows parts of a millisecond. A worker's handlers may
    have thousands of files open, and what is opened among them is beyond what it knows.
    """
    if max(descriptors) < _SELECTABLE:
        return select.select(descriptors, [], [], seconds)[0]
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    return [each for each, _ in poll.poll(max(0.0, seconds) * 1000)]
