"""The pods of a pool as the decision sees them: who serves, who starts, who is leaving."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fairlead_autoscaler.inputs import Inputs, Pod, Running, Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a pod has left to do, by estimate; zeros: it is idle."""

    jobs: int = 0
    slot_seconds: float = 0.0
    longest_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A pod that does not terminate, with its worker if it has registered."""

    pod: Pod
    worker: Worker | None
    load: Load

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
        """Slots of the pods that take jobs."""
        return sum(
            each.worker.slots
            for each in self.members
            if each.worker is not None and not each.is_marked(now)
        )

    def slots_per_pod(self, given: int) -> int:
        """Return what the youngest worker says, or what was given while there is none."""
        workers = [each.worker for each in self.members if each.worker is not None]
        if not workers:
            return given
        return max(workers, key=lambda worker: worker.registered_at).slots


def of(inputs: Inputs) -> Fleet:
    """Put together what belongs to each pod."""
    workers = {each.pod_uid: each for each in inputs.workers}
    loads = _loads(inputs)
    members = (
        Member(pod=pod, worker=workers.get(pod.uid), load=loads.get(pod.uid, Load()))
        for pod in inputs.pods
        if not pod.terminating
    )
    return Fleet(
        members=tuple(members),
        terminating=sum(pod.terminating for pod in inputs.pods),
        unseen=len(workers.keys() - {pod.uid for pod in inputs.pods}),
    )


def remaining_seconds(job: Running, now: datetime, spread: float) -> float:
    """Return how long a job will still run, by estimate.

    What is left of its estimate, when jobs take about what was estimated. The more their times
    are spread, the less its age says; and the longer it has run beyond the estimate, the longer
    it will.

    Args:
        job: One that runs.
        now: The database's time.
        spread: The squared coefficient of variation of service times; 1 and more count as 1,
            where times are exponential and age says nothing.
    """
    age = max(0.0, (now - job.claimed_at).total_seconds())
    return max(job.estimate_seconds - age, min(spread, 1.0) * max(job.estimate_seconds, age))


def spread_of(mean: float, variance: float) -> float:
    """Return the squared coefficient of variation; 0 where nothing is known."""
    return variance / mean**2 if mean > 0 else 0.0


def _loads(inputs: Inputs) -> Mapping[str, Load]:
    demand = inputs.demand
    spread = spread_of(demand.service_mean, demand.service_variance) if demand else 1.0
    left: defaultdict[str, list[float]] = defaultdict(list)
    for job in inputs.running:
        left[job.pod_uid].append(remaining_seconds(job, inputs.now, spread))
    return {
        uid: Load(jobs=len(each), slot_seconds=sum(each), longest_seconds=max(each))
        for uid, each in left.items()
    }
