"""Hear what the children say, and tell whom it concerns."""

from select import select
from time import monotonic

from fairlead import log
from fairlead.bell import Bell
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.exposition import Exposition
from fairlead_worker.family import STOPPED, Family
from fairlead_worker.rollcall import RollCall


class Listener:
    """The parent's end of all control sockets.

    Args:
        family: the children, the crew and what runs alone.
        exposition: told what was counted.
        rollcall: told what is held.
    """

    def __init__(self, family: Family, exposition: Exposition, rollcall: RollCall) -> None:
        self._family, self._exposition, self._rollcall = family, exposition, rollcall
        self._log = log.get("worker")

    def wait(self, bell: Bell, seconds: float) -> None:
        """Rest until there is news, or so long; then hear it all, and send what waited."""
        there = [child for child in self._family.children if not child.hung_up]
        sockets = {child.fileno(): child for child in there}
        takes = [child.fileno() for child in there if child.unsent]
        speaking, taking, _ = select([bell.fileno(), *sockets], takes, [], seconds)
        bell.hush()
        for each in taking:
            sockets[each].flush()
        for each in speaking:
            if each != bell.fileno():
                self.listen_to(sockets[each])

    def listen_to(self, child: Child) -> None:
        """Hear what has come from one child, be it the last words of a dead one."""
        solo = self._family.solo
        for message in child.heard():
            match message:
                case wire.Growth():
                    self._exposition.hear(message, child.pid)
                case wire.Alone():
                    solo.take(message, child)
                case wire.Ended():
                    solo.ended(message, monotonic())
                case wire.Declined():
                    solo.declined(message, monotonic())
                case wire.Holds():
                    self._rollcall.answered(message, child)
                case wire.Rested():
                    self._family.crew.rested(child, message)
                case wire.Unsure():
                    self._rollcall.plan(monotonic())
                case _:
                    self._note_state(child, message)

    def _note_state(self, child: Child, message: wire.State) -> None:
        match message:
            case wire.Ready() if child in self._family.solo.children:
                child.ready = True
            case wire.Ready():
                self._family.crew.ready(child, message)
            case wire.Idle():
                child.idle = True
            case wire.Busy():
                child.idle = False
            case wire.Draining():
                self._log.debug("child.draining", pid=child.pid)
            case wire.Drained():
                child.cause = child.cause or STOPPED
