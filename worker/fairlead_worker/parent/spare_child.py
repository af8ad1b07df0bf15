"""A child that is kept ready, so that the next one that dies is replaced at once.

Loading the application takes longer than what most jobs lose by a death, and all slots of the
child are missed meanwhile. Deaths come in series, as a tenant's bad payloads do: so from a
death on, for as long as deaths are remembered, one more child than the worker needs is loaded
and connected. It claims nothing until it takes the place of another one.

It has the application in memory once more. A child that was killed may have been killed for
want of memory: such a death starts no spare, and a spare that dies itself is not replaced.
"""

import signal

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.interruptions import Stopped
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.crash_history import WINDOW_SECONDS

_END_SECONDS = 5.0
_NO_LONGER_NEEDED = Stopped("it was a spare that is no longer needed")


class SpareChild:
    """The spare of one worker, if it has one."""

    def __init__(self) -> None:
        self.child: ChildHandle | None = None
        """It is here until it takes a place or is reaped."""
        self._wanted_until = 0.0

    def died_at_work(self, exit_code: int, now: float) -> None:
        """Note that a child died by itself, of no fault of its start."""
        memory_may_lack = exit_code == -signal.SIGKILL
        self._wanted_until = 0.0 if memory_may_lack else now + WINDOW_SECONDS

    def is_missing(self, now: float) -> bool:
        """Whether one is to be started."""
        return self.child is None and now < self._wanted_until

    def take(self) -> ChildHandle | None:
        """Return the spare, for a place among the children; None: there is none."""
        child = self.child
        if child is None or child.cause is not None or child.hung_up:
            return None
        self.child = None
        return child

    def end_if_unneeded(self, now: float) -> None:
        """End it when no death is remembered any more. A repeat does nothing."""
        child = self.child
        if child is not None and child.cause is None and now >= self._wanted_until:
            child.send(messages.Drain())  # so that it leaves its lifespan
            child.end(_NO_LONGER_NEEDED, within_seconds=_END_SECONDS)

    def remove(self) -> None:
        """Note that it is dead."""
        self.child, self._wanted_until = None, 0.0
