"""A pool of pods in simulated time: they start, run jobs in order, drain and are killed.

The ReplicaSet deletes like the real one: first pods that have not started, then those not
ready, then the youngest. A deleted pod takes no more jobs; what still runs when its grace
period ends is interrupted and starts again. Database latency and the scheduler are not
modelled.

A pod launched for a batch, like one of a Kubernetes Job, runs that many jobs in its life and
ends by itself. Some pods may have to wait for a node first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import log
from random import Random

from bench.autoscaling.workload import FleetConfig, Job, Workload


@dataclass(eq=False, slots=True)
class Pod:
    """One pod."""

    uid: str
    created: float
    ready_at: float
    running: dict[int, float] = field(default_factory=dict[int, float])
    """Start time of each running job, by index."""
    takes: int | None = None
    """How many jobs it runs before it ends by itself; None: unlimited."""
    node_at: float = 0.0
    """When it gets a node."""
    drain_until: float = 0.0
    drained_at: float | None = None
    deleted_at: float | None = None


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    waits: list[float] = field(default_factory=list[float])
    pod_seconds: float = 0.0
    scales: list[int] = field(default_factory=list[int])
    """Each replica count that was set."""
    writes: list[float] = field(default_factory=list[float])
    interrupted: int = 0
    wasted_seconds: float = 0.0
    samples: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Pods needed and pods serving, every five seconds."""
    first_waits: list[float] = field(default_factory=list[float])
    """Waits of jobs that arrived when there was no pod and no waiting job."""


class Fleet:
    """The pool, advanced from event to event."""

    def __init__(
        self, config: FleetConfig, workload: Workload, seed: int, *, pods: int
    ) -> None:
        self.config, self.workload = config, workload
        self.now = 0.0
        self.replicas = 0
        self.pods: dict[str, Pod] = {}
        self.queue: deque[int] = deque()
        self.finished = self.arrived = 0
        self.outcome = Outcome()
        self.service_mean, self.service_square = config.service_mean, 2 * config.service_mean**2
        self._dice = Random(f"fleet {workload.name} {seed}")
        self._events: list[tuple[float, int, str, str]] = []
        self._number = 0
        self._first_started: set[int] = set()
        self._from_zero: set[int] = set()
        self.begin(pods)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Every job of the workload."""
        return self.workload.jobs

    @property
    def living(self) -> list[Pod]:
        """Pods that are not deleted."""
        return [pod for pod in self.pods.values() if pod.deleted_at is None]

    @property
    def running(self) -> int:
        """Jobs that run."""
        return sum(len(pod.running) for pod in self.pods.values())

    def begin(self, pods: int) -> None:
        """Add this many pods that have already started."""
        self.replicas += pods
        for _ in range(pods):
            self._create(started=True)

    def advance(self, until: float) -> None:
        """Advance the time."""
        while True:
            due = self.jobs[self.arrived].due if self.arrived < len(self.jobs) else until + 1
            event = self._events[0][0] if self._events else until + 1
            at = min(due, event)
            if at > until:
                break
            self._pass(at)
            if due <= event:
                if not self.pods and not self.queue:
                    self._from_zero.add(self.arrived)
                self.queue.append(self.arrived)
                self.arrived += 1
                self._take()
            else:
                _, _, kind, name = heappop(self._events)
                self._happen(kind, name)
        self._pass(until)

    def scale(self, replicas: int) -> None:
        """Set the replicas."""
        if replicas == self.replicas:
            return
        self.replicas = replicas
        self.outcome.scales.append(replicas)
        self.outcome.writes.append(self.now)
        living = self.living
        for _ in range(replicas - len(living)):
            self._create(started=False)
        for pod in sorted(living, key=self._deleted_first)[: max(0, len(living) - replicas)]:
            self._delete(pod)

    def launch(self, pods: int, takes: int) -> None:
        """Launch more pods, each for some jobs; the initial ones end, too."""
        for pod in self.living:
            if pod.takes is None:
                pod.takes = takes
                self._leave(pod)
        if pods <= 0:
            self.replicas = len(self.living)
            return
        self.outcome.writes.append(self.now)
        for _ in range(pods):
            self._create(started=False, takes=takes)
        self.replicas = len(self.living)
        self.outcome.scales.append(self.replicas)

    def mark(self, uid: str, until: float) -> None:
        """Stop a pod from taking jobs until then; a past time lets it take them again."""
        pod = self.pods[uid]
        pod.drain_until = until
        if until <= self.now:
            pod.drained_at = None
        self._note_empty(pod)
        self._take()

    def sample(self) -> None:
        """Record the pods needed and the pods serving."""
        needed = -(-(len(self.queue) + self.running) // self.config.slots)
        serving = sum(pod.ready_at <= self.now for pod in self.living)
        self.outcome.samples.append((needed, serving))

    def _pass(self, at: float) -> None:
        self.outcome.pod_seconds += len(self.pods) * (at - self.now)
        self.now = at

    def _push(self, at: float, kind: str, name: str) -> None:
        self._number += 1
        heappush(self._events, (at, self._number, kind, name))

    def _create(self, *, started: bool, takes: int | None = None) -> None:
        self._number += 1
        config, node = self.config, 0.0
        delay = self._dice.lognormvariate(log(config.start_median), config.start_sigma)
        if config.node_share and self._dice.random() < config.node_share:
            node = config.node_seconds * self._dice.uniform(0.5, 1.5)
        ready = self.now if started else self.now + node + delay
        pod = Pod(
            uid=f"pod-{self._number}",
            created=self.now,
            ready_at=ready,
            takes=takes,
            node_at=self.now if started else self.now + node,
        )
        self.pods[pod.uid] = pod
        self._push(ready, "ready", pod.uid)

    def _delete(self, pod: Pod) -> None:
        pod.deleted_at = self.now
        if not pod.running:
            del self.pods[pod.uid]
        else:
            self._push(self.now + self.config.grace, "kill", pod.uid)

    def _deleted_first(self, pod: Pod) -> tuple[bool, bool, float]:
        return (pod.ready_at <= self.now, pod.drained_at is None, -pod.created)

    def _happen(self, kind: str, name: str) -> None:
        if kind == "ended":
            uid, _, place = name.partition(" ")
            self._end(uid, int(place))
        elif kind == "kill" and name in self.pods:
            self._kill(self.pods.pop(name))
        self._take()
        if kind == "ready" and name in self.pods:
            self._leave(self.pods[name])

    def _end(self, uid: str, place: int) -> None:
        pod = self.pods.get(uid)
        if pod is None or place not in pod.running:
            return  # it was interrupted
        del pod.running[place]
        self._learn(self.jobs[place].seconds)
        self._note_empty(pod)
        if pod.deleted_at is not None and not pod.running:
            del self.pods[pod.uid]
        elif not pod.takes or not self.queue:
            self._leave(pod)

    def _leave(self, pod: Pod) -> None:
        """End a pod that was launched for some jobs and has none left."""
        if pod.takes is not None and not pod.running:
            del self.pods[pod.uid]
            self.replicas = len(self.living)

    def _learn(self, seconds: float) -> None:
        """Update mean and variance of ended jobs as the scheduler does, by weight."""
        self.finished += 1
        self.service_mean += 0.05 * (seconds - self.service_mean)
        self.service_square += 0.05 * (seconds**2 - self.service_square)

    def _kill(self, pod: Pod) -> None:
        for place, begun in sorted(pod.running.items(), reverse=True):
            self.outcome.interrupted += 1
            self.outcome.wasted_seconds += self.now - begun
            self.queue.appendleft(place)

    def _note_empty(self, pod: Pod) -> None:
        if pod.drain_until > self.now and not pod.running and pod.drained_at is None:
            pod.drained_at = self.now

    def _take(self) -> None:
        """Let pods with free slots take the oldest jobs; which pod claims first is random."""
        if not self.queue:
            return
        able = [
            pod
            for pod in self.pods.values()
            if pod.ready_at <= self.now
            and pod.deleted_at is None
            and pod.drain_until <= self.now
            and len(pod.running) < self.config.slots
            and pod.takes != 0
        ]
        while self.queue and able:
            chosen = self._dice.randrange(len(able))
            pod = able[chosen]
            self._start(pod, self.queue.popleft())
            if len(pod.running) == self.config.slots or pod.takes == 0:
                able[chosen] = able[-1]
                able.pop()

    def _start(self, pod: Pod, place: int) -> None:
        pod.running[place] = self.now
        pod.drained_at = None
        if pod.takes is not None:
            pod.takes -= 1
        self._push(self.now + self.jobs[place].seconds, "ended", f"{pod.uid} {place}")
        if place not in self._first_started:
            self._first_started.add(place)
            self.outcome.waits.append(self.now - self.jobs[place].due)
            if place in self._from_zero:
                self.outcome.first_waits.append(self.now - self.jobs[place].due)
