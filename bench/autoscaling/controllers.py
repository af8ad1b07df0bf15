"""The controllers: Fairlead's decision, and others as their documentation describes them.

| name | signal | every |
|---|---|---|
| fairlead | what the scheduler would publish | 5 s, and at once from zero |
| hpa | jobs that wait and run, per pod; never below 1 | 15 s |
| keda | jobs that wait, or that wait and run, per pod; two loops | its poll, 15 s from 1 on |
| scaledjob | jobs that wait; a Kubernetes Job for each batch of a pod's slots | its poll |
| arc | jobs that wait and run; a runner for each batch, notified at once | 1 s |
| kpa | jobs that wait and run, averaged over 60 s and 6 s | 2 s |
| static | none: as many pods as the highest rate needs | never |
| oracle | the rate that will be there when a pod has started | 5 s |

KEDA's second loop is a HorizontalPodAutoscaler. Only fairlead chooses which pods to stop;
controllers that make pods for one batch each let them end by themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Protocol

from bench.autoscaling.fleet import Fleet
from bench.autoscaling.workload import FleetConfig, Workload
from fairlead_autoscaler.decision.erlang import slots_needed

HPA_SECONDS = 15.0


class Controller(Protocol):
    """Makes scaling decisions for a fleet at an interval."""

    every: float
    wakes: bool
    """Whether it is notified at once of a job for a pool at zero."""

    def tick(self, fleet: Fleet) -> None:
        """Observe the fleet and set its replicas."""
        ...


def hpa_replicas(value: float, target: float, replicas: int, *, tolerance: float = 0.1) -> int:
    """Return the replicas a HorizontalPodAutoscaler wants for an AverageValue metric.

    Within the tolerance it keeps the present number.
    """
    ratio = value / (target * replicas)
    return replicas if abs(1 - ratio) <= tolerance else ceil(value / target)


@dataclass(slots=True)
class Loop:
    """The loop of a HorizontalPodAutoscaler with one external metric."""

    pods_max: int
    target: float
    stabilization: float = 300.0
    wanted: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])

    def scale(self, fleet: Fleet, value: int) -> None:
        """Scale up by the larger of four pods and doubling, down to the window's maximum."""
        here = fleet.replicas
        want = max(1, hpa_replicas(value, self.target, here))
        self.wanted.append((fleet.now, want))
        while self.wanted[0][0] < fleet.now - self.stabilization:
            self.wanted.popleft()
        if want < here:
            want = min(here, max(each for _, each in self.wanted))
        fleet.scale(min(want, max(here + 4, 2 * here), self.pods_max))


@dataclass(slots=True)
class Keda:
    """A ScaledObject: one loop between zero and one, and a HorizontalPodAutoscaler above.

    Its defaults: polled every 30 s, zero after 300 s without work, up by at most the larger of
    four pods and doubling in 15 s, down to the maximum of the stabilization window.
    """

    loop: Loop
    in_system: bool
    """Whether running jobs count, as in the formula of Airflow's chart."""
    poll: float = 30.0
    cooldown: float = 300.0
    every: float = 5.0
    wakes: bool = False
    polled: float = -1e9
    scaled: float = -1e9
    active: float = 0.0

    def tick(self, fleet: Fleet) -> None:
        """Run the loops that are due: only the first one at zero, else both."""
        value = len(fleet.queue) + (fleet.running if self.in_system else 0)
        if value > 0:
            self.active = fleet.now
        if fleet.now - self.polled >= self.poll:
            self.polled = fleet.now
            if fleet.replicas == 0 and value > 0:
                fleet.scale(1)
                return
            if fleet.replicas > 0 and fleet.now - self.active >= self.cooldown:
                fleet.scale(0)
                return
        if fleet.replicas > 0 and fleet.now - self.scaled >= HPA_SECONDS:
            self.scaled = fleet.now
            self.loop.scale(fleet, value)


@dataclass(slots=True)
class Hpa:
    """A HorizontalPodAutoscaler alone, on waiting and running jobs, with its defaults."""

    loop: Loop
    every: float = HPA_SECONDS
    wakes: bool = False

    def tick(self, fleet: Fleet) -> None:
        """Observe and scale; it never scales to zero."""
        value = len(fleet.queue) + fleet.running
        if fleet.replicas == 0:
            fleet.scale(1)
        self.loop.scale(fleet, value)


@dataclass(slots=True)
class ScaledJob:
    """KEDA's ScaledJob: by each poll as many Kubernetes Jobs as its strategy says.

    | strategy | Jobs made |
    |---|---|
    | default | what is wanted without those that have not ended |
    | accurate | what is wanted without those that have not started, up to the maximum |
    | eager | what is wanted, up to the maximum without those that have not ended |
    """

    pods_max: int
    slots: int
    strategy: str
    every: float = 5.0
    wakes: bool = False

    def tick(self, fleet: Fleet) -> None:
        """Create Kubernetes Jobs for waiting jobs."""
        there = fleet.living
        pending = sum(pod.ready_at > fleet.now for pod in there)
        want = min(self.pods_max, ceil(len(fleet.queue) / self.slots))
        room = self.pods_max - len(there)
        if self.strategy == "default":
            made = want - len(there)
        elif self.strategy == "accurate":
            made = room if want + len(there) > self.pods_max else want - pending
        else:
            made = min(room, want)
        fleet.launch(made, self.slots)


@dataclass(slots=True)
class Arc:
    """GitHub's runner scale set: as many runners as assigned jobs; each ends by itself."""

    pods_max: int
    slots: int
    every: float = 1.0
    wakes: bool = True

    def tick(self, fleet: Fleet) -> None:
        """Keep as many runners as waiting and running jobs fill."""
        want = ceil((len(fleet.queue) + fleet.running) / self.slots)
        fleet.launch(min(want, self.pods_max) - len(fleet.living), self.slots)


@dataclass(slots=True)
class Kpa:
    """Knative's autoscaler, with waiting and running jobs in place of requests."""

    pods_max: int
    slots: int
    utilization: float = 0.7
    every: float = 2.0
    wakes: bool = True
    seen: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])
    panicked: float | None = None
    panic_pods: int = 0
    idle_since: float | None = None

    def tick(self, fleet: Fleet) -> None:
        """Average over 60 s, and over 6 s for panic mode, in which it never scales down."""
        now, value = fleet.now, len(fleet.queue) + fleet.running
        self.seen.append((now, value))
        while self.seen[0][0] <= now - 60:
            self.seen.popleft()
        target = self.utilization * self.slots
        ready = max(1, sum(pod.ready_at <= now for pod in fleet.living))
        stable, panic = (self._average(now - back) / target for back in (60, 6))
        lowest, highest = ready // 2, 1000 * ready
        steady = min(max(ceil(stable), lowest), highest)
        hasty = min(max(ceil(panic), lowest), highest)
        if ceil(panic) / ready >= 2:
            self.panicked = now
        if self.panicked is not None and now - self.panicked >= 60:
            self.panicked, self.panic_pods = None, 0
        want = steady
        if self.panicked is not None:
            self.panic_pods = want = max(self.panic_pods, hasty, steady)
        fleet.scale(min(self._at_zero(now, stable, want), self.pods_max))

    def _average(self, since: float) -> float:
        values = [value for at, value in self.seen if at > since]
        return sum(values) / len(values) if values else 0.0

    def _at_zero(self, now: float, stable: float, want: int) -> int:
        """Keep the last pod for the grace period of 30 s."""
        if stable > 0:
            self.idle_since = None
            return max(1, want)
        self.idle_since = now if self.idle_since is None else self.idle_since
        return 0 if now - self.idle_since >= 30 else 1


@dataclass(slots=True)
class KnownRate:
    """Knows the intended rates: the highest one, or the future one."""

    pods: Callable[[float], int]
    every: float = 5.0
    wakes: bool = False

    def tick(self, fleet: Fleet) -> None:
        """Set the replicas that the known rate needs."""
        fleet.scale(self.pods(fleet.now))


def static(fleet: Fleet) -> KnownRate:
    """Return a controller with as many pods as the highest rate needs, all the time."""
    most = pods_needed(
        fleet, max(zip(fleet.workload.rates, fleet.workload.service, strict=True))
    )
    return KnownRate(lambda _now: most)


def oracle(fleet: Fleet) -> KnownRate:
    """Return a controller with the pods that the rates until a pod would have started need."""
    rates, service = fleet.workload.rates, fleet.workload.service
    ahead = int(2 * fleet.config.start_median)

    def pods(now: float) -> int:
        begin = min(int(now), len(rates) - 1)
        span = slice(begin, begin + ahead)
        coming = zip(rates[span], service[span], strict=True)
        return pods_needed(fleet, max(coming, key=lambda each: each[0] * each[1]))

    return KnownRate(pods)


def pods_needed(fleet: Fleet, arriving: tuple[float, float]) -> int:
    """Return the pods that a rate and a mean service time need."""
    rate, service = arriving
    config = fleet.config
    most = config.pods_max * config.slots
    slots = slots_needed(
        rate * service,
        wait_seconds=0.7 * config.objective,
        service_seconds=service,
        late_share=0.001,
        most=most,
    )
    return ceil(slots / config.slots)


def begun(config: FleetConfig, workload: Workload, seed: int) -> Fleet:
    """Return a fleet that starts with the pods the first rate needs."""
    fleet = Fleet(config, workload, seed, pods=0)
    fleet.begin(pods_needed(fleet, (workload.rates[0], workload.service[0])))
    return fleet
