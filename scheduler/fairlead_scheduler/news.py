"""What the sweeps tell the loop, and what the loop asks of them.

The loop's decisions live on one thread; whatever another thread has read or changed reaches
them as a value in a queue. A bell shortens the loop's rest.
"""

import os
import select
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeVar

from fairlead_scheduler.store import Queued
from fairlead_scheduler.values import Found

T = TypeVar("T")


class Promoted(NamedTuple):
    """Jobs that fell due and are pending now."""

    rows: tuple[Found, ...]


class Recalled(NamedTuple):
    """Jobs that left `work_queue` unclaimed."""

    ids: tuple[int, ...]


class Surveyed(NamedTuple):
    """The first pending job of every lane and rank."""

    rows: tuple[Found, ...]


class Audited(NamedTuple):
    """A full read of `work_queue`."""

    queued: Queued


News = Promoted | Recalled | Surveyed | Audited


class Bell:
    """Something to wait for beside a socket; any thread or signal handler may ring it."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def ring(self) -> None:
        """End the present wait, or the next one."""
        try:
            os.write(self._writer, b"!")
        except BlockingIOError:  # it has been rung 65,536 times and not been heard yet
            return

    def fileno(self) -> int:
        """Return what to write to in order to ring it."""
        return self._writer

    def wait(self, seconds: float, beside: int) -> None:
        """Wait for the bell, for the other file descriptor to have something, or so long."""
        ready, _, _ = select.select([self._reader, beside], [], [], seconds)
        if self._reader in ready:
            os.read(self._reader, 65_536)

    def close(self) -> None:
        """Give the pipe back; nobody may ring any more."""
        os.close(self._reader)
        os.close(self._writer)


def drain(queue: SimpleQueue[T]) -> list[T]:
    """Take all that is in the queue now."""
    taken: list[T] = []
    while True:
        try:
            taken.append(queue.get_nowait())
        except Empty:
            return taken
