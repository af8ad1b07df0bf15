"""Drain the worker of a marked pod: pause the children, and store that nothing is left.

A renewal of the lease returns the drain mark, and from then on the database refuses this
worker's claims, including one that a child sent before it died. So once nothing in the queue is
this worker's, nothing can be added, and that is stored at once.
"""

from functools import partial

from fairlead.runtime import log
from fairlead_worker.db.session import Session
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.children import Children
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.lease_thread import LeaseThread, Reply
from fairlead_worker.parent.pod_drain_state import DrainPhase, phase_of

_RETRY_SECONDS = 0.25


class PodDrain:
    """How far this worker has drained under its pod's mark.

    Args:
        lease: has the mark, and runs the database calls.
        children: the children to pause.
        hand_backs: what is on its way back to the queue.
    """

    def __init__(self, lease: LeaseThread, children: Children, hand_backs: HandBacks) -> None:
        self._lease, self._children, self._hand_backs = lease, children, hand_backs
        self._writing = False
        self._write_at = self._clock = 0.0
        self._log = log.get("worker")
        self.phase = DrainPhase.WORKING
        self.since: float | None = None
        """Since when the pod is marked (monotonic)."""

    def advance(self, now: float, worker_id: int) -> None:
        """Let the children claim or pause them, and store it when nothing is left."""
        self._clock, mark = now, self._lease.drain_mark
        if mark.draining:
            self._children.pause_claiming()
            self._hand_backs.hand_back(self._children.quarantine.give_up())
        else:
            self._children.claiming.start_claiming(worker_id)
        self._enter(phase_of(mark, empty=self._is_empty), now)
        if self.phase == DrainPhase.EMPTY and not self._writing and now >= self._write_at:
            self._writing = True
            self._lease.submit(partial(self._write_drained, worker_id))

    @property
    def _is_empty(self) -> bool:
        return self._children.is_paused and not self._hand_backs.pending

    def _enter(self, phase: DrainPhase, now: float) -> None:
        if phase == self.phase:
            return
        if phase == DrainPhase.WORKING:
            self.since = None
        elif self.since is None:
            self.since = now
        self.phase = phase
        self._log.info(f"pod.{phase.name.lower()}")

    def _write_drained(self, worker_id: int, session: Session) -> Reply:
        if worker_store.drained(session, worker_id):
            self._lease.note_drained()
        return self._written

    def _written(self) -> None:
        self._writing = False
        self._write_at = self._clock + _RETRY_SECONDS
