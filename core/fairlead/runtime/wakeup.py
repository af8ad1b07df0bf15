"""Wake a loop that rests in select, from another thread or from a signal handler."""

import contextlib
import select
import signal
import socket
from collections.abc import Generator, Sequence

_SELECTABLE = 1024
"""`select` accepts descriptors below this one."""


class Wakeup:
    """A loop waits for it as for any descriptor; waking it twice is the same as once."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.settimeout(0)
        self._writer.settimeout(0)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._reader.fileno()

    @contextlib.contextmanager
    def by_signals(self) -> Generator[None]:
        """Within the block every signal wakes it, also one that comes just before a wait.

        That one interrupts no system call, so without this Python's handler runs after the
        wait. Only the main thread may enter.
        """
        former = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(former)

    def wake(self) -> None:
        """End the current wait, or the next one."""
        with contextlib.suppress(BlockingIOError):  # full: it will wake anyway
            self._writer.send(b"!")

    def clear(self) -> None:
        """Discard earlier wake-ups, so that the next wait waits."""
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def wait(self, seconds: float, *, beside: int | None = None) -> bool:
        """Wait for a wake-up, for another descriptor to be readable, or so long; then clear.

        Returns whether there was a wake-up.
        """
        descriptors = (self.fileno(),) if beside is None else (self.fileno(), beside)
        woken = self.fileno() in _readable(descriptors, seconds)
        if woken:
            self.clear()
        return woken

    def close(self) -> None:
        """Close both ends. No thread may wake it or wait any more."""
        self._reader.close()
        self._writer.close()


def _readable(descriptors: Sequence[int], seconds: float) -> list[int]:
    """Return the descriptors that are readable, after a wait of at most so long.

    It uses `select` if possible, since its timeout has fractions of a millisecond. A worker's
    handlers may have thousands of files open, and `select` accepts no descriptor above 1023.
    """
    if max(descriptors) < _SELECTABLE:
        return select.select(descriptors, [], [], seconds)[0]
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    return [each for each, _ in poll.poll(max(0.0, seconds) * 1000)]
