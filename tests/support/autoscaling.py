"""Looks at a pool for tests of the autoscaler's decision: say only what matters."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision import fleet
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.inputs import Demand, Inputs, Pod, PodLoad, Worker, Workload
from fairlead_autoscaler.decision.result import Decision, State
from fairlead_autoscaler.targets import Removal

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
SLOTS = 4
TICK = timedelta(seconds=5)


def seconds(count: float) -> timedelta:
    """Return a duration."""
    return timedelta(seconds=count)


def pool(**given: object) -> Autoscale:
    """Return a pool with an objective of 30 s, as a document would say it."""
    return Autoscale.model_validate(
        {"objective": "30s", "min": 0, "max": 100, "slots": SLOTS} | given
    )


def demand(
    now: datetime = NOW,
    *,
    work: float = 0,
    waited: float | None = None,
    total: int = 0,
    useful: int = 1_000_000,
    due: Iterable[float] = (0, 0, 0, 0),
    mean: float = 8.0,
    variance: float = 64.0,
) -> Demand:
    """Return what a pool needs."""
    since = None if waited is None and not work else now - seconds(waited or 0)
    return Demand(
        pool="default",
        epoch=1,
        at=now,
        became_runnable_total=total,
        work_slot_seconds=work,
        slots_useful=useful,
        slots_kept=0,
        slots_allowed=1_000_000,
        oldest_runnable_at=since,
        scheduled_slot_seconds=tuple(due),
        service_mean=mean,
        service_variance=variance,
    )


def workload(replicas: int, version: str = "1") -> Workload:
    """Return a Deployment at rest."""
    return Workload(
        name="release-worker-default",
        uid="uid-release-worker-default",
        replicas=replicas,
        version=version,
        generation=1,
        observed_generation=1,
        status_replicas=replicas,
        updated_replicas=replicas,
    )


def pods(count: int) -> tuple[Pod, ...]:
    """Return pods that are ready, an hour old."""
    created = NOW - seconds(3600)
    return tuple(
        Pod(uid=f"pod-{place}", created_at=created, seen_at=None, ready=True, was_ready=True)
        for place in range(count)
    )


def workers(count: int, *, slots: int = SLOTS) -> tuple[Worker, ...]:
    """Return the workers of such pods."""
    at = NOW - seconds(3580)
    return tuple(
        Worker(pod_uid=f"pod-{place}", slots_full=slots, registered_at=at)
        for place in range(count)
    )


def loads(*counts: int, left: float = 8.0, mean: float = 8.0) -> tuple[PodLoad, ...]:
    """Return so many running jobs for each pod, each with so many seconds left of a mean."""
    return tuple(
        PodLoad(
            pod_uid=f"pod-{place}",
            jobs=count,
            slot_seconds=count * left,
            longest_seconds=left,
            long_jobs=sum(fleet.is_long(left, mean) for _ in range(count)),
        )
        for place, count in enumerate(counts)
        if count
    )


def look(count: int, of: Demand | None = None, *, jobs: tuple[PodLoad, ...] = ()) -> Inputs:
    """Return a look at a pool of so many idle pods, unless jobs are given."""
    return Inputs(
        now=NOW,
        answered=True,
        cluster_at=NOW,
        demand=of if of is not None else demand(),
        workload=workload(count),
        pods=pods(count),
        workers=workers(count),
        loads=jobs,
    )


@dataclass(slots=True)
class Cluster:
    """A cluster that carries out every write at once, tick by tick; no pod in it takes jobs."""

    config: Autoscale
    inputs: Inputs
    state: State

    def tick(self, of: Demand | None = None, *, jobs: tuple[PodLoad, ...] = ()) -> Decision:
        """Decide, do what was decided, and let a tick pass."""
        now = self.inputs.now
        if of is not None:
            self.inputs = replace(self.inputs, demand=replace(of, at=now), loads=jobs)
        decision = decide(self.state, self.inputs, self.config)
        self.state = decision.state
        self.inputs = obeyed(self.inputs, decision)
        return decision


def obeyed(inputs: Inputs, decision: Decision) -> Inputs:
    """Return the next look when everything was done: idle pods under a mark are drained."""
    now = inputs.now + TICK
    busy = {each.pod_uid for each in inputs.loads}
    workers = tuple(_marked(each, decision, now, busy) for each in inputs.workers)
    empty = {each.pod_uid for each in workers if each.drained_at is not None}
    pods = tuple(replace(each, ready=each.uid not in empty) for each in inputs.pods)
    replicas, version = inputs.workload.replicas, inputs.workload.version
    if decision.scale is not None:
        replicas, version = decision.scale, str(int(version) + 1)
    by_number = inputs.workload.removal is Removal.LAST_FIRST
    kept = sorted(
        pods, key=lambda each: (not by_number and not each.ready, each.ordinal or 0, each.uid)
    )[:replicas]
    fresh = tuple(
        Pod(uid=f"{version}-{place}", created_at=now, seen_at=now, ready=True, was_ready=True)
        for place in range(replicas - len(kept))
    )
    uids = {each.uid for each in kept}
    return replace(
        inputs,
        now=now,
        cluster_at=now,
        workload=replace(
            inputs.workload,
            replicas=replicas,
            version=version,
            status_replicas=replicas,
            updated_replicas=replicas,
        ),
        pods=(*kept, *fresh),
        workers=(
            *(each for each in workers if each.pod_uid in uids),
            *(Worker(pod_uid=each.uid, slots_full=SLOTS, registered_at=now) for each in fresh),
        ),
        loads=tuple(each for each in inputs.loads if each.pod_uid in uids),
    )


def _marked(worker: Worker, decision: Decision, now: datetime, busy: set[str]) -> Worker:
    until, drained = worker.drain_until, worker.drained_at
    if worker.pod_uid in decision.drain:
        until = decision.drain_until
    if worker.pod_uid in decision.undrain or until is None or until <= now:
        return replace(worker, drain_until=None, drained_at=None)
    return replace(
        worker,
        drain_until=until,
        drained_at=drained if worker.pod_uid in busy else drained or now,
    )
