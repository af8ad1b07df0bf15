"""Decide, after a process has ended under jobs, which of them run alone, and for how long.

Jobs that ran in a child that died are handed back once the database has said whose they are:
suspects by `crash_history` as crashed, which makes them run alone next, the others as released.
Sources that keep ending processes are found by `crash_breaker`; their jobs go to quarantine
when they are claimed, and those for which there is no turn are put off.

A child that dies with nothing started may have claimed more than its memory holds. Then fewer
are claimed from there on (`claim_bound`), and what a child had claimed alone has crashed. That
is sure only while no child, dead or alive, has lost the answer to a claim.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from math import inf

from fairlead.runtime import log
from fairlead_worker.db.session import Session
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import AttemptEntry, UnstoredSuccess
from fairlead_worker.ipc.interruptions import (
    Cause,
    Death,
    Died,
    Interruption,
    Overran,
    endings,
    endings_of_death,
)
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.children import Children
from fairlead_worker.parent.claim_bound import ClaimBound
from fairlead_worker.parent.crash_breaker import FAULTS_MAX, WINDOW_SECONDS, CrashBreakers
from fairlead_worker.parent.crash_history import CrashHistory, Present
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.lease_thread import LeaseThread, Reply
from fairlead_worker.parent.metrics_page import MetricsPage
from fairlead_worker.parent.quarantine_process import SuspectJob
from fairlead_worker.parent.worker_store import JobRecord

_PUT_OFF_SECONDS = (5.0, 30.0)
"""Between which a job is put off beyond the time that its breaker stays open: spread, so that
a long backlog does not come back at once."""
_UNHELD_SECONDS = 10.0
"""For how long after a death the orphan-claim checks find what the child had claimed."""


@dataclass(frozen=True, slots=True)
class DeathOfChild:
    """A child died under what had started in it, and what had ended in it was not stored.

    Either may be to blame: a handler may return and leave its process broken.
    """

    started: tuple[AttemptEntry, ...]
    ended: tuple[UnstoredSuccess, ...]
    cause: Death

    @property
    def present(self) -> tuple[AttemptEntry | UnstoredSuccess, ...]:
        """All of them."""
        return (*self.started, *self.ended)


class CrashReview:
    """What one worker knows and does about jobs that end its processes.

    Args:
        lease: runs the database calls, and shows in the worker's row which breakers are open.
        children: are told which sources run alone.
        hand_backs: hands back what ran in a dead child, and what is put off.
        metrics_page: shows how many breakers are open.
    """

    def __init__(
        self,
        lease: LeaseThread,
        children: Children,
        *,
        hand_backs: HandBacks,
        metrics_page: MetricsPage,
    ) -> None:
        self._lease, self._children = lease, children
        self._hand_backs, self._metrics_page = hand_backs, metrics_page
        self._history, self._breakers = CrashHistory(), CrashBreakers()
        self._claim_bound = ClaimBound()
        self._died_unstarted: Died | None = None
        self._died_at = self._now = 0.0
        self._answer_lost_at = -inf
        self._log = log.get("worker.crashes")

    def ended(self, counts: Iterable[tuple[Source, int]]) -> None:
        """Count attempts that ended and left their process alive."""
        self._history.ended(counts)

    def child_died(self, death: DeathOfChild, *, idle: bool) -> None:
        """Hand back what had started in a child that died, as soon as the suspects are known.

        It counts as pending from now on. When this worker dies before that, all of it is lost
        with the worker's other attempts. Where nothing had started the next claims are smaller,
        unless the child was idle or was killed for another reason.
        """
        self._died_unstarted, self._died_at = None, self._now
        if death.present:
            self._hand_backs.expect(entry.token for entry in death.started)
            self._lease.submit(partial(self._read_sources, death))
            return
        if isinstance(death.cause, Died) and not (death.cause.cut_off or idle):
            self._died_unstarted = death.cause
            self._claim_bound.died(self._now)

    def claim_answer_lost(self) -> None:
        """Note that a child has lost the answer to a claim: what it leased, none holds."""
        self._answer_lost_at = self._now

    def unheld(self, keys: tuple[Key, ...]) -> tuple[Interruption, ...]:
        """Return how attempts end that are leased to this worker and that no child holds.

        They have not started. A single one that a child held which died is to blame for that.
        """
        died, lasted_seconds = self._died_unstarted, self._now - self._died_at
        if keys and died is not None and lasted_seconds < _UNHELD_SECONDS:
            self._died_unstarted = None
            if self._answer_lost_at > self._died_at - _UNHELD_SECONDS:
                return tuple(Interruption(*key, "returned") for key in keys)
            self._claim_bound.claimed(len(keys), self._now)
            if len(keys) == 1:
                how = f"the process that had claimed it alone {died.how}"
                self._log.warning("claim.crashed", job=keys[0][0])
                return (Interruption(*keys[0], "crashed", how),)
        return tuple(Interruption(*key, "returned") for key in keys)

    def overran(self, entries: tuple[AttemptEntry, ...]) -> None:
        """Note handlers that ignored their deadlines, for which a process has to be killed."""
        if entries:
            self._lease.submit(partial(self._read_overrunners, entries))

    def died_in_quarantine(self, job: SuspectJob | None, cause: Cause, now: float) -> None:
        """Note that a quarantine process ended under its job: the job is certainly to blame."""
        if job is not None and isinstance(cause, Died | Overran):
            if isinstance(cause, Died):
                self._history.caused(job.source, now)
            self._fault(job.source, job.job_id, now)

    def ended_in_quarantine(self, job: SuspectJob | None, now: float) -> None:
        """Note that a job has ended in a quarantine process and left it alive."""
        if job is None:
            return
        self._history.ended_alone(job.job_id)
        if self._breakers.ended_well(job.source, now):
            kind, tenant = job.source
            self._log.info("crash_breaker.closed", kind=kind, tenant=tenant)

    def advance(self, now: float) -> None:
        """Tell the children which sources run alone, and put off what has no turn."""
        self._now = now
        sources = self._breakers.open
        self._metrics_page.breakers_open = len(sources)
        self._lease.set_crash_breakers(sources)
        self._children.claiming.quarantine(sources)
        self._children.claiming.bound_claims(self._claim_bound.at(now))
        surplus = self._children.quarantine.take_surplus(sources)
        self._hand_backs.hand_back(self._put_off(job, now) for job in surplus)

    def _put_off(self, job: SuspectJob, now: float) -> Interruption:
        kind, tenant = job.source
        why = (
            f"put off: jobs of kind {kind!r} of tenant {tenant!r} run one at a time on this "
            "worker, because several have ended the process that ran them"
        )
        seconds = self._breakers.open_seconds(job.source, now)
        delay = timedelta(seconds=seconds + random.uniform(*_PUT_OFF_SECONDS))
        return Interruption(*job.key, "snoozed", why, delay)

    # --- the database says whose jobs they are ----------------------------------------------

    def _read_sources(self, death: DeathOfChild, session: Session) -> Reply:
        found = worker_store.sources(session, [each.key for each in death.present])
        return partial(self._judge, death, found)

    def _judge(self, death: DeathOfChild, found: dict[int, JobRecord]) -> None:
        known = [each for each in death.present if each.job_id in found]
        present = [
            Present(
                each.token, each.job_id, found[each.job_id].source, found[each.job_id].crashes
            )
            for each in known
        ]
        if not present:  # they have been finished by others
            self._hand_backs.hand_back(endings(death.started, death.cause))
            return
        verdict = self._history.judge(present, self._now)
        suspects = [each.job_id for each in known if each.token in verdict.suspects]
        released = [
            each.key
            for each in death.started
            if each.job_id in found and each.token not in verdict.suspects
        ]
        self._log.info("suspects.found", suspects=suspects, released=len(released))
        cause = verdict.cause
        # What started alone runs alone next, and that will tell; what has ended runs no more.
        if cause is not None and (len(known) > 1 or not death.started):
            job_id = min(each.job_id for each in known if found[each.job_id].source == cause)
            self._fault(cause, job_id, self._now)
        if released:
            self._lease.submit(partial(self._count_crashes, released))
        self._hand_backs.hand_back(
            endings_of_death(death.started, death.cause, verdict.suspects)
        )

    def _count_crashes(self, keys: list[Key], session: Session) -> Reply:
        worker_store.count_crashes(session, keys)
        return _nothing

    def _read_overrunners(self, entries: tuple[AttemptEntry, ...], session: Session) -> Reply:
        found = worker_store.sources(session, [entry.key for entry in entries])
        return partial(self._note_overrunners, found)

    def _note_overrunners(self, found: dict[int, JobRecord]) -> None:
        for job_id, record in found.items():
            self._fault(record.source, job_id, self._now)

    def _fault(self, source: Source, job_id: int, now: float) -> None:
        seconds = self._breakers.fault(source, job_id, now)
        if seconds is not None:
            self._metrics_page.breaker_openings += 1
            kind, tenant = source
            self._log.error(
                "crash_breaker.opened",
                kind=kind,
                tenant=tenant,
                job=job_id,
                for_seconds=seconds,
                reason=f"{FAULTS_MAX} jobs within {WINDOW_SECONDS:g} s, or another one soon "
                "after it closed, ended the process that ran them",
            )


def _nothing() -> None:
    """Do nothing more: no answer is needed."""
