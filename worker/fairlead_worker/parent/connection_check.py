"""Find the children that can open no connection although the parent can.

A handler may use up its process's descriptors, lower one of its limits or change what a
connection needs. If the child then loses a connection it lives on, runs nothing and cannot
store what has ended; no deadline passes, and its worker's lease is renewed.

Only a comparison tells that from a database that is down or full. When a child reports that a
connection was refused, the parent opens two at once, as a child does, in a thread since that
may take long. A child is *cut off* when the parent could do so after `REFUSALS` refusals in a
row, over `SECONDS` at least. A refusal of the parent's own speaks for all children. What the
server answers is no child's fault: it may be full now and have room a moment later.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from fairlead.db.connect import Unreachable
from fairlead_worker.ipc.messages import ConnectionRefused
from fairlead_worker.parent.child_handle import ChildHandle

REFUSALS = 5
SECONDS = 5.0


@dataclass(slots=True)
class _Refused:
    """Since when a child's connections are refused, why, and how often the parent's was not."""

    since: float
    reason: str
    opened: int = 0


class ConnectionCheck:
    """Compares children with their parent; `advance` is called by the parent's loop.

    Args:
        open_and_close: opens as many connections as a child holds, and closes them.
    """

    def __init__(self, open_and_close: Callable[[], None]) -> None:
        self._open_and_close = open_and_close
        self._refused: dict[ChildHandle, _Refused] = {}
        self._asked: ChildHandle | None = None
        """The child for which the parent opens a connection now."""
        self._answers: SimpleQueue[bool] = SimpleQueue()
        self.is_refused_too = False
        """Whether the parent's last try was refused, and no child has connected since."""

    def refused(self, child: ChildHandle, how: ConnectionRefused, now: float) -> None:
        """Note that a child's connection was refused, and open one of the parent's.

        While that is under way no further one is opened: the child will report more refusals.
        A refusal of the server's own begins them anew: the child can reach it.
        """
        if how.has_answered:
            self._refused.pop(child, None)
        else:
            self._refused.setdefault(child, _Refused(now, how.reason)).reason = how.reason
        if self._asked is None:
            self._asked = child
            threading.Thread(target=self._ask, name="connection check", daemon=True).start()

    def forget(self, child: ChildHandle) -> None:
        """Note that a child is dead. A repeat does nothing."""
        self._refused.pop(child, None)

    def connected(self, child: ChildHandle) -> None:
        """Note that a child has its connections. A repeat does nothing."""
        self.is_refused_too = False
        self.forget(child)

    def advance(self, now: float) -> tuple[tuple[ChildHandle, str], ...]:
        """Return the children that were found to be cut off, each once, and why."""
        try:
            has_opened = self._answers.get_nowait()
        except Empty:
            return ()
        child, self._asked = self._asked, None
        self.is_refused_too = not has_opened
        if not has_opened:
            self._refused.clear()
            return ()
        found = None if child is None else self._refused.get(child)
        if child is None or found is None:
            return ()
        found.opened += 1
        if found.opened < REFUSALS or now < found.since + SECONDS:
            return ()
        self.forget(child)
        return ((child, found.reason),)

    def _ask(self) -> None:
        has_opened = False
        try:
            with suppress(Unreachable, OSError):
                self._open_and_close()
                has_opened = True
        finally:
            self._answers.put(has_opened)
