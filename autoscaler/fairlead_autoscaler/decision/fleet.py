"""A pool's pods as the decision sees them: serving, starting or leaving."""

from dataclasses import dataclass
from datetime import datetime

from fairlead_autoscaler.decision.inputs import Inputs, Pod, PodLoad, Worker

LONG_MEANS = 3.0
"""A job with this many mean durations left counts as long and occupies its slot; of
exponential durations one in twenty gets there by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A pod that does not terminate, with its worker once that has registered."""

    pod: Pod
    worker: Worker | None
    load: PodLoad

    @property
    def uid(self) -> str:
        """The pod's UID."""
        return self.pod.uid

    def is_marked(self, now: datetime) -> bool:
        """Whether the pod takes no more jobs because of a drain mark that has not lapsed."""
        until = self.worker.drain_until if self.worker else None
        return until is not None and until > now

    def is_drained(self, now: datetime) -> bool:
        """Whether it is empty under such a mark and not ready: deleted first."""
        empty = self.worker is not None and self.worker.drained_at is not None
        return empty and self.is_marked(now) and not self.pod.ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Every pod of a pool."""

    members: tuple[Member, ...]
    terminating: int
    unseen: int
    """Workers whose pod is not visible: the view of the pods is older than they are."""

    @property
    def starting(self) -> tuple[Member, ...]:
        """Pods without a worker: capacity counts from the worker's registration on."""
        return tuple(each for each in self.members if each.worker is None)

    @property
    def running(self) -> int:
        """Jobs that pods hold."""
        return sum(each.load.jobs for each in self.members)

    def serving_slots(self, now: datetime) -> int:
        """Slots of the pods that take jobs, including those of processes that still start."""
        return sum(
            each.worker.slots_full
            for each in self.members
            if each.worker is not None and not each.is_marked(now)
        )

    def held_slots(self, now: datetime, seconds: float) -> int:
        """Return how many of `serving_slots` long jobs hold for longer than so many seconds."""
        return sum(
            min(each.load.long_jobs, each.worker.slots_full)
            for each in self.members
            if each.worker is not None
            and not each.is_marked(now)
            and each.load.longest_seconds > seconds
        )

    def slots_per_pod(self, given: int) -> int:
        """Return what the youngest worker reports; without workers, what is configured."""
        workers = [each.worker for each in self.members if each.worker is not None]
        return max(workers, key=_age).slots_full if workers else given


def of(inputs: Inputs) -> Fleet:
    """Join the pods with their workers and loads."""
    workers = {each.pod_uid: each for each in sorted(inputs.workers, key=_age)}
    loads = {each.pod_uid: each for each in inputs.loads}
    members = (
        Member(pod=pod, worker=workers.get(pod.uid), load=loads.get(pod.uid) or _idle(pod))
        for pod in inputs.pods
        if not pod.terminating
    )
    return Fleet(
        members=tuple(members),
        terminating=sum(pod.terminating for pod in inputs.pods),
        unseen=len(workers.keys() - {pod.uid for pod in inputs.pods}),
    )


def remaining_seconds(*, age: float, estimate: float, spread: float) -> float:
    """Return how long a job will still run, by estimate; snapshot.sql computes the same.

    With regular durations, what is left of the estimate. The more durations are spread, the
    less a job's age says. A job that has overrun its estimate is expected to run at least that
    long again: "it ends any moment" has been wrong for that long.

    Args:
        age: Seconds since a worker claimed it; below 0 counts as 0.
        estimate: Seconds it was expected to take at dispatch.
        spread: Squared coefficient of variation of service times; above 1 counts as 1, where
            durations are exponential and age says nothing.
    """
    held = max(0.0, age)
    return max(abs(estimate - held), min(spread, 1.0) * max(estimate, held))


def is_long(left_seconds: float, mean: float) -> bool:
    """Return whether a job is so far from its end that its slot is not to be counted on.

    snapshot.sql applies the same rule.

    Args:
        left_seconds: As `remaining_seconds` returns it.
        mean: Mean seconds of the pool's jobs; 0: unknown.
    """
    return mean > 0 and left_seconds > LONG_MEANS * mean


def spread_of(mean: float, variance: float) -> float:
    """Return the squared coefficient of variation; 0 if unknown."""
    return variance / mean**2 if mean > 0 else 0.0


def _idle(pod: Pod) -> PodLoad:
    return PodLoad(pod_uid=pod.uid, jobs=0, slot_seconds=0.0, longest_seconds=0.0, long_jobs=0)


def _age(worker: Worker) -> datetime:
    """Return the sort key that puts the live row of a restarted container last."""
    return worker.registered_at
