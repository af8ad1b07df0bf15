"""Fairlead's decision over the simulated fleet: the function that the controller calls."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from random import Random

from bench.autoscaling.fleet import Fleet, Pod
from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.fleet import is_long, remaining_seconds, spread_of
from fairlead_autoscaler.decision.inputs import (
    FIRES_WITHIN_SECONDS,
    SCHEDULED_WITHIN_SECONDS,
    Demand,
    Fires,
    Inputs,
    PodLoad,
    Worker,
    Workload,
)
from fairlead_autoscaler.decision.inputs import Pod as Seen
from fairlead_autoscaler.decision.result import State

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
SPAN_SECONDS = 5
SILENCE_SECONDS = 12.2
"""Seconds without a leader after a leader was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The faults of a run."""

    outage: tuple[float, float] = (0.0, 0.0)
    """When the database is unavailable."""
    lag: float = 0.0
    """How old the scheduler's report is when it is read."""
    lost: float = 0.0
    """The share of ticks without a report newer than at the tick before."""
    restarts: float = inf
    """Seconds between restarts of the autoscaler, which loses its memory, after a silence."""
    hand_offs: float = inf
    """Seconds between leaders of the scheduler, which start counting anew, after a silence."""


class Fairlead:
    """Ticks every five seconds, and at once when a job arrives for a pool at zero."""

    every = 5.0
    wakes = True

    def __init__(
        self, fleet: Fleet, *, look_ahead: bool = True, faults: Faults | None = None
    ) -> None:
        config = fleet.config
        self._config = Autoscale.model_validate(
            {
                "objective": f"{config.objective:g}s",
                "min": 0,
                "max": config.pods_max,
                "slots": config.slots,
            }
        )
        known = [job for job in fleet.jobs if job.scheduled and look_ahead]
        self._scheduled = [job.due for job in known if not job.fired]
        self._fired = [job.due for job in known if job.fired]
        self._faults = faults or Faults()
        self._dice = Random(f"faults {fleet.workload.name}")
        self._state = State()
        self._began = 0.0
        self._said: deque[Demand] = deque()
        self.last: Demand | None = None

    def tick(self, fleet: Fleet) -> None:
        """Observe, decide and act."""
        faults, now = self._faults, fleet.now
        if now % faults.restarts < min(SILENCE_SECONDS, now):
            self._state, self._began = State(), now
            return
        answered = not faults.outage[0] <= now < faults.outage[1]
        if answered and now % faults.hand_offs >= min(SILENCE_SECONDS, now):
            self._said.append(self.demand(fleet))
        if answered and self._dice.random() >= faults.lost:
            while self._said and self._said[0].at <= instant(now - faults.lag):
                self.last = self._said.popleft()
        decision = decide(self._state, self._inputs(fleet, answered=answered), self._config)
        self._state = decision.state
        until = (decision.drain_until - BEGUN).total_seconds()
        for uid in decision.drain:
            fleet.mark(uid, until)
        for uid in decision.undrain:
            fleet.mark(uid, 0.0)
        if decision.scale is not None:
            fleet.scale(decision.scale)

    def _inputs(self, fleet: Fleet, *, answered: bool) -> Inputs:
        pods = fleet.pods.values()
        return Inputs(
            now=instant(fleet.now),
            answered=answered,
            cluster_at=instant(fleet.now),
            demand=self.last,
            workload=Workload(
                name="bench",
                uid="bench",
                replicas=fleet.replicas,
                version=f"{fleet.now} {fleet.replicas}",
                generation=1,
                observed_generation=1,
                status_replicas=fleet.replicas,
                updated_replicas=fleet.replicas,
            ),
            pods=tuple(seen_pod(pod, fleet.now, self._began) for pod in pods),
            workers=tuple(pod_worker(pod, fleet) for pod in pods if pod.ready_at <= fleet.now),
            loads=tuple(self.load(pod, fleet) for pod in pods if pod.running),
        )

    def load(self, pod: Pod, fleet: Fleet) -> PodLoad:
        """Return a pod's estimated remaining work, as the controller's statement does."""
        last = self.last
        spread = spread_of(last.service_mean, last.service_variance) if last else 1.0
        left = [
            remaining_seconds(age=fleet.now - begun, estimate=fleet.service_mean, spread=spread)
            for begun in pod.running.values()
        ]
        return PodLoad(
            pod_uid=pod.uid,
            jobs=len(left),
            slot_seconds=sum(left),
            longest_seconds=max(left),
            long_jobs=sum(is_long(each, last.service_mean) for each in left) if last else 0,
        )

    def demand(self, fleet: Fleet) -> Demand:
        """Return the scheduler's report: it knows mean run times, not those of single jobs."""
        mean = fleet.service_mean
        begin = bisect_right(self._scheduled, fleet.now)
        due = tuple(
            (bisect_right(self._scheduled, fleet.now + within) - begin) * mean
            for within in SCHEDULED_WITHIN_SECONDS
        )
        oldest = fleet.jobs[fleet.queue[0]].due if fleet.queue else None
        return Demand(
            pool="default",
            epoch=int(fleet.now // self._faults.hand_offs),
            at=instant(fleet.now),
            became_runnable_total=fleet.arrived,
            work_slot_seconds=len(fleet.queue) * mean,
            slots_useful=len(fleet.queue) + fleet.running,
            slots_kept=0,
            slots_allowed=fleet.config.pods_max * fleet.config.slots,
            oldest_runnable_at=None if oldest is None else instant(oldest),
            scheduled_slot_seconds=due,
            service_mean=mean,
            service_variance=max(0.0, fleet.service_square - mean**2),
            fires=self._fires(fleet),
        )

    def _fires(self, fleet: Fleet) -> tuple[Fires, ...]:
        """Return what schedules fire soon, by spans as the scheduler says it."""
        begin = bisect_right(self._fired, fleet.now)
        until = bisect_right(self._fired, fleet.now + FIRES_WITHIN_SECONDS)
        spans = Counter(int(at // SPAN_SECONDS) for at in self._fired[begin:until])
        begun = BEGUN.timestamp()
        return tuple(
            Fires(begun + span * SPAN_SECONDS, jobs, jobs * fleet.service_mean)
            for span, jobs in sorted(spans.items())
        )


def instant(seconds: float) -> datetime:
    """Return the time so many seconds after the beginning."""
    return BEGUN + timedelta(seconds=seconds)


def seen_pod(pod: Pod, now: float, began: float) -> Seen:
    """Return a pod as a watch shows it that began at `began`."""
    started = pod.ready_at <= now
    return Seen(
        uid=pod.uid,
        created_at=instant(pod.created),
        seen_at=instant(pod.created) if pod.created > began else None,
        ready=started and pod.drained_at is None,
        was_ready=started,
        terminating=pod.deleted_at is not None,
        unschedulable=pod.node_at > now,
    )


def pod_worker(pod: Pod, fleet: Fleet) -> Worker:
    """Return the worker of a pod that has started."""
    return Worker(
        pod_uid=pod.uid,
        slots_full=fleet.config.slots,
        registered_at=instant(pod.ready_at),
        drain_until=instant(pod.drain_until) if pod.drain_until > 0 else None,
        drained_at=None if pod.drained_at is None else instant(pod.drained_at),
    )
