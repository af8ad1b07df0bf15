"""Heed the mark on this worker's pod: have the children rest, and say when nothing is left.

The renewal of the lease tells of the mark, and from then on the database itself refuses this
worker's claims: also one that a child sent before it died. So once nothing in the queue is the
worker's, nothing can come to it, and that is written down at once.
"""

from functools import partial

from fairlead import log
from fairlead_worker import parent_store
from fairlead_worker.family import Family
from fairlead_worker.handback import HandBacks
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.rest import Phase, phase_of
from fairlead_worker.session import Session

_AGAIN_SECONDS = 0.25


class PodDrain:
    """How far this worker has emptied itself under its pod's mark.

    Args:
        lease: knows the mark, and runs the errands.
        family: who is to rest.
        handbacks: what is on its way back to the queue.
    """

    def __init__(self, lease: LeaseThread, family: Family, handbacks: HandBacks) -> None:
        self._lease, self._family, self._handbacks = lease, family, handbacks
        self._asked = False
        self._ask_at = self._clock = 0.0
        self._log = log.get("worker")
        self.phase = Phase.WORKING
        self.since: float | None = None
        """Since when the pod is marked (monotonic)."""

    def advance(self, now: float, worker_id: int) -> None:
        """Have the children claim or rest, and the database told when nothing is left."""
        self._clock, mark = now, self._lease.mark
        if mark.draining:
            self._family.rest()
            self._handbacks.give(self._family.solo.give_up())
        else:
            self._family.crew.go(worker_id)
        self._enter(phase_of(mark, empty=self._empty), now)
        if self.phase == Phase.EMPTY and not self._asked and now >= self._ask_at:
            self._asked = True
            self._lease.ask(partial(self._ask, worker_id))

    @property
    def _empty(self) -> bool:
        return self._family.rests and not self._handbacks.pending

    def _enter(self, phase: Phase, now: float) -> None:
        if phase == self.phase:
            return
        if phase == Phase.WORKING:
            self.since = None
        elif self.since is None:
            self.since = now
        self.phase = phase
        self._log.info(f"pod.{phase.name.lower()}")

    def _ask(self, worker_id: int, session: Session) -> Reply:
        if parent_store.drained(session, worker_id):
            self._lease.note_drained()
        return self._answered

    def _answered(self) -> None:
        self._asked = False
        self._ask_at = self._clock + _AGAIN_SECONDS
