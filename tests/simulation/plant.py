"""A pool of pods with faults: pods that never start, are evicted, or lose their node.

The pods, their jobs and the ReplicaSet are those of `bench.autoscaling.fleet`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bench.autoscaling.fleet import Fleet, Pod
from bench.autoscaling.workload import Curve, FleetConfig, draw

NEVER = 1e9
LEASE_SECONDS = 15.0
"""For so long a worker's row outlives its pod."""
SECONDS = 420
"""How long a history is; in the last third nothing goes wrong."""
CALM_FROM = 280.0
PODS_MAX = 8
SLOTS = 4


def fleet_config() -> FleetConfig:
    """Return a small fleet of quick jobs."""
    return FleetConfig(
        seconds=SECONDS,
        slots=SLOTS,
        service_mean=4.0,
        start_median=8.0,
        start_sigma=0.3,
        objective=10.0,
        pods_max=PODS_MAX,
        grace=30.0,
    )


@dataclass(frozen=True, slots=True)
class Removal:
    """A pod that a lower number of replicas has deleted."""

    uid: str
    jobs: int
    was_ready: bool


@dataclass(slots=True)
class LostWorker:
    """The row of a worker whose pod is gone."""

    pod: Pod
    until: float


class Plant(Fleet):
    """The pool, whose ReplicaSet replaces what goes, and of which every change is counted."""

    def __init__(self, seed: int, *, stuck: float) -> None:
        self.stuck = stuck
        """The share of pods that never start."""
        self.version = 1
        """Of the Deployment: it moves with every write and every change of the pods."""
        self.lost: list[LostWorker] = []
        self.removals: list[Removal] = []
        """What the last write of replicas has deleted."""
        self.wrote: Callable[[int, int], None] = _unseen
        """Called after each write, with the replicas before it and since."""
        config = fleet_config()
        curve = Curve(levels=(0.0, 0.5, 3.0, 7.0), stretch=60.0)
        super().__init__(config, draw("simulation", curve, config, seed), seed, pods=1)

    @property
    def starting(self) -> list[Pod]:
        """Pods that have not started."""
        return [each for each in self.living if each.ready_at > self.now]

    def advance(self, until: float) -> None:
        """Advance the time, and let the ReplicaSet follow."""
        before = self._shape()
        super().advance(until)
        for _ in range(self.replicas - len(self.living)):
            self._create(started=False)
        self.lost = [each for each in self.lost if each.until > self.now]
        if self._shape() != before:
            self.version += 1

    def _shape(self) -> tuple[int, int, int]:
        ready = sum(x.ready_at <= self.now and x.drained_at is None for x in self.living)
        return len(self.pods), len(self.living), ready

    def write(self, replicas: int) -> None:
        """Take a write of the replicas, and note which pods it deletes."""
        former = self.replicas
        before = {uid: len(pod.running) for uid, pod in self.pods.items()}
        living = {pod.uid: pod for pod in self.living}
        self.scale(replicas)
        gone = living.keys() - {pod.uid for pod in self.living}
        self.removals = [
            Removal(uid, before[uid], living[uid].ready_at <= self.now) for uid in sorted(gone)
        ]
        self.version += 1
        self.wrote(former, replicas)

    def evict(self, pods: int) -> None:
        """Let pods go at once with their jobs, as an eviction or a lost node does."""
        for pod in self.living[:pods]:
            self._kill(self.pods.pop(pod.uid))
            if pod.ready_at <= self.now:
                self.lost.append(LostWorker(pod, self.now + LEASE_SECONDS))
        self._take()

    def heal(self) -> None:
        """Let every pod start from now on, those that never would have as well."""
        self.stuck = 0.0
        for pod in self.living:
            if pod.ready_at >= NEVER:
                pod.node_at, pod.ready_at = self.now, self.now + 1.0
                self._push(pod.ready_at, "ready", pod.uid)

    def _create(self, *, started: bool, takes: int | None = None) -> None:
        super()._create(started=started, takes=takes)
        pod = self.pods[f"pod-{self._newest()}"]
        if not started and self._dice.random() < self.stuck:
            pod.ready_at = NEVER
            if self._dice.random() < 0.5:  # the others have a node, and crash
                pod.node_at = NEVER

    def _newest(self) -> int:
        return max(int(uid.removeprefix("pod-")) for uid in self.pods)

    def _happen(self, kind: str, name: str) -> None:
        if kind == "ready" and name in self.pods and self.pods[name].ready_at >= NEVER:
            return
        super()._happen(kind, name)


def _unseen(former: int, replicas: int) -> None:
    """Let nobody see a write."""
    del former, replicas
