"""Children that have to be killed for one handler, and whose other jobs end first.

A thread that ignores its deadline can only be ended together with its process. Its neighbours
are innocent, and most jobs are short: the child claims no more and gives back what it has not
started, its replacement starts at once, and it is killed when nothing else runs in it, or after
`FINISH_SECONDS`. Then the rest is released. At most `RETIRING_MAX` children live on this way,
because each has the application in memory once more; beyond that one is killed at once.
"""

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.interruptions import Overran
from fairlead_worker.parent.child_handle import ChildHandle

FINISH_SECONDS = 10.0
RETIRING_MAX = 2
_STORE_SECONDS = 2.0
"""How long it may take to store the last endings."""


class RetiringChildren:
    """The children that finish what runs in them; `children` of `claiming_children` before."""

    def __init__(self) -> None:
        self.children: tuple[ChildHandle, ...] = ()
        self._released: frozenset[ChildHandle] = frozenset()

    @property
    def has_room(self) -> bool:
        """Whether another child may live on for a while."""
        return len(self.children) < RETIRING_MAX

    @property
    def slotless(self) -> int:
        """How many attempts run in them, in slots that their replacements have as well."""
        return sum(len(child.running()) for child in self.children)

    def take(self, child: ChildHandle, cause: Overran) -> None:
        """Let a child finish and then end it for this cause."""
        self.children = (*self.children, child)
        child.claiming = False
        child.send(messages.Drain())
        child.end(cause, within_seconds=FINISH_SECONDS)

    def advance(self) -> None:
        """End the children in which nothing runs but what they are ended for."""
        for child in self.children:
            cause = child.cause
            if child in self._released or not isinstance(cause, Overran):
                continue
            if all(entry.token in cause.tokens for entry in child.running()):
                self._released |= {child}
                child.send(messages.Release())
                child.end(cause, within_seconds=_STORE_SECONDS)

    def remove(self, child: ChildHandle) -> None:
        """Note a death; of another child, nothing."""
        self.children = tuple(each for each in self.children if each is not child)
        self._released -= {child}
