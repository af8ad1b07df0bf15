"""Reap dead children: release their attempts and look for what else they had claimed."""

from fairlead.runtime import log
from fairlead.runtime.orphans import reap_orphans
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.interruptions import Death, Fenced, Overran, endings, how_it_died
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.children import Children
from fairlead_worker.parent.claiming_children import CannotStartChildren
from fairlead_worker.parent.connection_check import ConnectionCheck
from fairlead_worker.parent.crash_review import CrashReview, DeathOfChild
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.inbox import Inbox
from fairlead_worker.parent.metrics_page import MetricsPage
from fairlead_worker.parent.orphan_claims import OrphanClaims


class Reaper:
    """Kills the children whose moment has come, and cleans up after all that are dead.

    Args:
        children: where dead ones are removed.
        inbox: reads their last messages.
        hand_backs: hands back what they ran.
        metrics_page: counts deaths.
        orphan_claims: finds what they had claimed.
        connection_check: need not compare them with the parent any more.
        crash_review: decides which of the jobs that a dead child ran are suspects.
    """

    def __init__(
        self,
        children: Children,
        inbox: Inbox,
        *,
        hand_backs: HandBacks,
        metrics_page: MetricsPage,
        orphan_claims: OrphanClaims,
        connection_check: ConnectionCheck,
        crash_review: CrashReview,
    ) -> None:
        self._children, self._inbox = children, inbox
        self._hand_backs, self._metrics_page = hand_backs, metrics_page
        self._orphan_claims, self._connection_check = orphan_claims, connection_check
        self._crash_review = crash_review
        self._log = log.get("worker")

    def reap(self, now: float) -> CannotStartChildren | None:
        """Reap every dead child; return why no other one can work, if none can.

        Orphans are reaped with them: whatever a child or its handlers have left behind.
        """
        cannot_start: CannotStartChildren | None = None
        for child in self._children.all:
            child.kill_if_due(now)
            code = child.reap()
            if code is not None:
                self._inbox.read_from(child)
                found = self._reap_one(child, code, now)
                cannot_start = cannot_start or found
        reap_orphans(self._children.pids)
        return cannot_start

    def _reap_one(
        self, child: ChildHandle, code: int, now: float
    ) -> CannotStartChildren | None:
        children, cannot_start = self._children, None
        cause, (started, ended) = child.cause_of_end(), child.unstored()
        uncounted = self._metrics_page.child_died(child.pid, started)
        self._hand_backs.note_uncounted_starts(uncounted)
        if child in children.quarantine.children:
            job = children.quarantine.job_in(child)
            self._crash_review.died_in_quarantine(job, cause, now)
            for each in ended:
                children.quarantine.ended(messages.SuspectEnded(each.job_id, each.token), now)
            self._hand_backs.hand_back(children.quarantine.process_died(child, started, cause))
        else:
            children.quarantine.sender_died(child)
            if isinstance(cause, Death):
                death = DeathOfChild(started, ended, cause)
                self._crash_review.child_died(death, idle=not child.may_hold)
            else:
                self._hand_backs.hand_back(endings(started, cause))
            children.retiring.remove(child)
            cannot_start = children.claiming.remove(child, code)
        if not isinstance(cause, Fenced):
            self._hand_backs.finish(ended)
        if isinstance(cause, Death | Overran):
            self._metrics_page.child_deaths += 1
            how = cause.how if isinstance(cause, Death) else how_it_died(code)
            self._log.error("child.died", pid=child.pid, reason=how, started=len(started))
            self._orphan_claims.plan(now)
        self._orphan_claims.died(child)
        self._connection_check.forget(child)
        child.close()
        return cannot_start
