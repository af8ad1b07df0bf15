"""The pods of a pool as the decision sees them: who serves, who starts, who is leaving."""

from dataclasses import dataclass
from datetime import datetime

from fairlead_autoscaler.inputs import Inputs, Pod, PodLoad, Worker

LONG_MEANS = 3.0
"""A job that has so many times left what one takes on average holds its slot: of exponential
times one in twenty comes to that by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A pod that does not terminate, with its worker if it has registered."""

    pod: Pod
    worker: Worker | None
    load: PodLoad

    @property
    def uid(self) -> str:
        """The pod's."""
        return self.pod.uid

    def is_marked(self, now: datetime) -> bool:
        """Whether the pod takes no more jobs, by a mark that has not lapsed."""
        until = self.worker.drain_until if self.worker else None
        return until is not None and until > now

    def is_drained(self, now: datetime) -> bool:
        """Whether it is empty under such a mark and not ready: the first to be deleted."""
        empty = self.worker is not None and self.worker.drained_at is not None
        return empty and self.is_marked(now) and not self.pod.ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Every pod of a pool."""

    members: tuple[Member, ...]
    terminating: int
    unseen: int
    """Workers whose pod is not to be seen: what is known of the pods is older than they are."""

    @property
    def starting(self) -> tuple[Member, ...]:
        """Pods without a worker: capacity counts from the worker's row on."""
        return tuple(each for each in self.members if each.worker is None)

    @property
    def running(self) -> int:
        """Jobs that pods hold."""
        return sum(each.load.jobs for each in self.members)

    def serving_slots(self, now: datetime) -> int:
        """Slots of the pods that take jobs, those of processes that still start counted."""
        return sum(
            each.worker.slots_full
            for each in self.members
            if each.worker is not None and not each.is_marked(now)
        )

    def held_slots(self, now: datetime, seconds: float) -> int:
        """Return how many of `serving_slots` are not about to come free, nor within a time."""
        return sum(
            min(each.load.long_jobs, each.worker.slots_full)
            for each in self.members
            if each.worker is not None
            and not each.is_marked(now)
            and each.load.longest_seconds > seconds
        )

    def slots_per_pod(self, given: int) -> int:
        """Return what the youngest worker says, or what was given while there is none."""
        workers = [each.worker for each in self.members if each.worker is not None]
        return max(workers, key=_age).slots_full if workers else given


def of(inputs: Inputs) -> Fleet:
    """Put together what belongs to each pod."""
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
    """Return how long a job will still run, by estimate; the snapshot computes the same.

    What is left of its estimate, when jobs take about what was estimated. The more their times
    are spread, the less its age says. For as long as it has run beyond the estimate it will run
    on, at least: that it ends any moment has been wrong for so long.

    Args:
        age: For how many seconds a worker has held it; below 0 counts as 0.
        estimate: How many seconds it was expected to take when it was dispatched.
        spread: The squared coefficient of variation of service times; 1 and more count as 1,
            where times are exponential and age says nothing.
    """
    held = max(0.0, age)
    return max(abs(estimate - held), min(spread, 1.0) * max(estimate, held))


def is_long(left_seconds: float, mean: float) -> bool:
    """Tell whether a job is far from its end, so that nobody may count on its slot.

    The snapshot says the same.

    Args:
        left_seconds: As `remaining_seconds` says.
        mean: How many seconds the pool's jobs take on average; 0: nobody knows.
    """
    return mean > 0 and left_seconds > LONG_MEANS * mean


def spread_of(mean: float, variance: float) -> float:
    """Return the squared coefficient of variation; 0 where nothing is known."""
    return variance / mean**2 if mean > 0 else 0.0


def _idle(pod: Pod) -> PodLoad:
    return PodLoad(pod_uid=pod.uid, jobs=0, slot_seconds=0.0, longest_seconds=0.0, long_jobs=0)


def _age(worker: Worker) -> datetime:
    """Return what sorts the rows of a pod whose container started again: the live one last."""
    return worker.registered_at
