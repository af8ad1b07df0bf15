"""Wake a loop that rests in select, from another thread or from a signal's handler."""

import contextlib
import select
import socket


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
        heard, _, _ = select.select([self.fileno(), beside], [], [], seconds)
        if self.fileno() in heard:
            self.hush()

    def close(self) -> None:
        """Let go of both ends. Nobody may ring or wait any more."""
        self._hears.close()
        self._rings.close()
