"""What a child's death means: how its attempts ended, and what is looked for after it."""

from fairlead import log
from fairlead_worker.children import Child
from fairlead_worker.crew import Hopeless
from fairlead_worker.exposition import Exposition
from fairlead_worker.family import Family
from fairlead_worker.handback import HandBacks
from fairlead_worker.ledger_view import Died, Overran, endings, how_it_died
from fairlead_worker.listener import Listener
from fairlead_worker.rollcall import RollCall


class Undertaker:
    """Kills the children whose moment has come, and cleans up after all that are dead.

    Args:
        family: where they are missing from then on.
        listener: hears their last words.
        handbacks: hands back what they ran.
        exposition: counts deaths.
        rollcall: finds what they had claimed.
    """

    def __init__(
        self,
        family: Family,
        listener: Listener,
        *,
        handbacks: HandBacks,
        exposition: Exposition,
        rollcall: RollCall,
    ) -> None:
        self._family, self._listener = family, listener
        self._handbacks, self._exposition, self._rollcall = handbacks, exposition, rollcall
        self._log = log.get("worker")

    def bury_dead(self, now: float) -> Hopeless | None:
        """Bury every dead child; return why no other one can work, if none can."""
        hopeless: Hopeless | None = None
        for child in self._family.children:
            child.kill_if_due(now)
            code = child.exit_code()
            if code is not None:
                self._listener.listen_to(child)
                found = self._bury(child, code, now)
                hopeless = hopeless or found
        return hopeless

    def _bury(self, child: Child, code: int, now: float) -> Hopeless | None:
        family, hopeless = self._family, None
        cause, started = child.how_it_ended(), child.running()
        self._handbacks.begun(self._exposition.bury(child.pid, started))
        if child in family.solo.children:
            self._handbacks.give(family.solo.bury(child, started, cause))
        else:
            family.solo.bereave(child)
            self._handbacks.give(endings(started, cause))
            hopeless = family.crew.remove(child, code)
        if isinstance(cause, Died | Overran):
            self._exposition.child_deaths += 1
            how = how_it_died(code)
            self._log.error("child.died", pid=child.pid, how=how, started=len(started))
            self._rollcall.plan(now)
        self._rollcall.died(child)
        child.close()
        return hopeless
