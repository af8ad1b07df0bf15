"""How threads reach each other: a bell that ends a rest, and what the loop asks of the others.

The loop's decisions live on one thread; whatever another one has read or changed reaches them
as a value in a queue.
"""

import os
import select
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


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


class Requests:
    """What the loop asks of the hands beside it.

    Args:
        call: Has a chore done now, by its name.
    """

    def __init__(self, call: Callable[[str], None]) -> None:
        self.recalls: SimpleQueue[tuple[int, ...]] = SimpleQueue()
        self.due_us: SimpleQueue[int] = SimpleQueue()
        self.idle = False
        """Whether nothing has stirred for a while."""
        self._call = call

    def recall(self, ids: tuple[int, ...]) -> None:
        """Take these unclaimed rows out of `work_queue`."""
        self.recalls.put(ids)
        self._call("recall")

    def promote_from(self, due_us: int) -> None:
        """Promote what is due from then on, from the next look on: something was seen there."""
        self.due_us.put(due_us)
        if self.idle:
            self._call("promote")

    def rest(self, *, idle: bool) -> None:
        """Sweep less often while nothing stirs, and often again at once when something does."""
        if self.idle and not idle:
            self._call("promote")
        self.idle = idle

    def steal(self) -> None:
        """Take back what dead workers hold: one has just been marked."""
        self._call("steal")

    def audit(self) -> None:
        """Read all of `work_queue`."""
        self._call("audit")

    def survey(self) -> None:
        """Scan the lanes."""
        self._call("survey")


def drain(queue: SimpleQueue[T]) -> list[T]:
    """Take all that is in the queue now."""
    taken: list[T] = []
    while True:
        try:
            taken.append(queue.get_nowait())
        except Empty:
            return taken
