"""Read the children's messages and dispatch each to its receiver."""

from select import select
from time import monotonic

from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead_worker.ipc import messages
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.children import STOPPED, Children
from fairlead_worker.parent.connection_check import ConnectionCheck
from fairlead_worker.parent.crash_review import CrashReview
from fairlead_worker.parent.metrics_page import MetricsPage
from fairlead_worker.parent.orphan_claims import OrphanClaims


class Inbox:
    """The parent's end of all control sockets.

    Args:
        children: all children, claiming and in quarantine.
        metrics_page: receives the growth of the metrics.
        orphan_claims: receives the tokens that children hold.
        connection_check: receives that connections were refused.
        crash_review: receives which attempts left their processes alive.
    """

    def __init__(
        self,
        children: Children,
        metrics_page: MetricsPage,
        orphan_claims: OrphanClaims,
        connection_check: ConnectionCheck,
        crash_review: CrashReview,
    ) -> None:
        self._children, self._metrics_page = children, metrics_page
        self._orphan_claims, self._connection_check = orphan_claims, connection_check
        self._crash_review = crash_review
        self._log = log.get("worker")

    def wait(self, wakeup: Wakeup, seconds: float) -> None:
        """Wait for messages or the wakeup for so long; then read them and send what waited."""
        connected = [child for child in self._children.all if not child.hung_up]
        sockets = {child.fileno(): child for child in connected}
        unsent = [child.fileno() for child in connected if child.has_unsent]
        template = self._children.template
        waited_for = [wakeup.fileno(), *sockets, *template.waits_on()]
        readable, writable, _ = select(waited_for, unsent, [], seconds)
        wakeup.clear()
        for each in writable:
            sockets[each].flush()
        for each in readable:
            if each in sockets:
                self.read_from(sockets[each])
            elif each != wakeup.fileno():
                template.read()

    def read_from(self, child: ChildHandle) -> None:
        """Handle what has come from one child, including what a dead one sent last."""
        quarantine = self._children.quarantine
        for message in child.received():
            match message:
                case messages.MetricsGrowth():
                    self._metrics_page.add_from_child(message, child.pid)
                case messages.AttemptsEnded(counts):
                    self._crash_review.ended(counts)
                case messages.NeedsQuarantine():
                    quarantine.take(message, child)
                case messages.SuspectEnded():
                    job = quarantine.ended(message, monotonic())
                    self._crash_review.ended_in_quarantine(job, monotonic())
                case messages.SuspectDeclined():
                    quarantine.declined(message, monotonic())
                case messages.HeldTokens():
                    self._orphan_claims.answered(message, child)
                case messages.ClaimingPaused():
                    self._children.claiming.paused(child, message)
                case (
                    messages.ConnectionRefused()
                    | messages.Connected()
                    | messages.ClaimAnswerLost()
                ):
                    self._note_connection(child, message)
                case _:
                    self._note_state(child, message)

    def _note_connection(self, child: ChildHandle, message: messages.ConnectionNews) -> None:
        match message:
            case messages.ConnectionRefused():
                child.connected = False
                self._connection_check.refused(child, message, monotonic())
            case messages.Connected():
                child.connected = True
                self._connection_check.connected(child)
            case messages.ClaimAnswerLost():
                self._crash_review.claim_answer_lost()
                self._orphan_claims.plan(monotonic())

    def _note_state(self, child: ChildHandle, message: messages.State) -> None:
        if isinstance(message, messages.Ready):
            child.connected = True
            self._connection_check.connected(child)
        match message:
            case messages.Ready() if child in self._children.quarantine.children:
                child.ready = True
            case messages.Ready():
                self._children.claiming.ready(child, message)
            case messages.Idle() | messages.Busy():
                child.idle = isinstance(message, messages.Idle)
            case messages.JobsDone():
                self._children.claiming.jobs_done = True
            case messages.Slotless(count):
                child.slotless = count
            case messages.LoopBlocked(kind):
                self._children.claiming.isolate(kind, monotonic())
            case messages.Draining():
                self._log.debug("child.draining", pid=child.pid)
            case messages.Drained():
                child.cause = child.cause or STOPPED
