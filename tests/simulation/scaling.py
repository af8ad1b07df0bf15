"""One simulation of the autoscaler: two controllers, a cluster, a database, and faults."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import cast

from fairlead_autoscaler.controller.controller import Controller
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.election.vacancy import Problem
from fairlead_autoscaler.kube.port import KubePort
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.targets import Target
from tests.simulation.cluster import NAME, POOL, Site, SiteDatabase, SiteKube
from tests.simulation.plant import CALM_FROM, PODS_MAX, SECONDS, Plant
from tests.simulation.verdict import Broken, Verdict
from tests.support.kubernetes.election import Candidate, World

TICK = 5.0
WINDOW = 60.0
"""The stabilization: nothing shrinks within it after a raise."""
STARVED = 75.0
"""Work that has waited for so long, beyond its objective, makes a pool grow: a minute of one
who writes nothing, and the steps around it."""
STALE = 30.0
"""By a demand that is older than fifteen seconds no pod is removed; a write that was decided on
before may take another few, and a frozen controller's is refused."""
_OBJECTIVE = 10.0


@dataclass(eq=False)
class Leadership:
    """A candidate's Lease, as a controller asks for it."""

    candidate: Candidate

    def is_leader(self) -> bool:
        """Return whether it is ours."""
        return self.candidate.is_leader()

    @property
    def term(self) -> int:
        """The number of the term."""
        return self.candidate.election.transitions

    @property
    def problem(self) -> Problem | None:
        """Nothing that it would say: the harness knows who leads."""
        return None


class Process:
    """One controller process."""

    def __init__(self, site: Site, number: int) -> None:
        self._site = site
        self.candidate = site.world.join()
        self.kube = SiteKube(site, self.candidate)
        self.controller = Controller(
            cast("KubePort", self.kube),
            cast("Database", SiteDatabase(site)),
            Leadership(self.candidate),
            Options(holder=f"controller-{number}", targets={POOL: Target(name=NAME)}),
            metrics=Metrics(),
            clock=self.candidate.clock,
        )
        site.world.at(site.world.now + site.dice.uniform(0, TICK), self._step)

    def _step(self) -> None:
        candidate, world = self.candidate, self._site.world
        if not candidate.alive:
            return
        if world.now < candidate.frozen_until:
            world.at(candidate.frozen_until, self._step)
            return
        began = world.now
        self._site.plant.advance(world.now)
        self.controller.step()
        rest = 0.0 if self.controller.is_repeat_due else TICK - (world.now - began)
        world.at(world.now + max(0.05, rest), self._step)


class Watch:
    """Checks what the autoscaler promises, once a second and at each write."""

    def __init__(self, site: Site, processes: list[Process]) -> None:
        self._site, self._processes = site, processes
        self.checked = Counter[str]()
        self.longest_us = Counter[str]()
        self.calm_from = 0.0
        """When something last went wrong."""
        self._writes = self._marks = 0
        self._raised_at = -1e9
        self._starved_from: float | None = None

    def look(self) -> None:
        """Check what was written since, and what was not."""
        site = self._site
        for at, former, replicas in site.written[self._writes :]:
            self._check_write(at, former, replicas)
        self._writes = len(site.written)
        for at, uid in site.marked[self._marks :]:
            self.checked["stabilization"] += 1
            if at - self._raised_at < WINDOW and self.calm_from < self._raised_at:
                raise Broken(f"{uid} is marked {at - self._raised_at:.1f} s after a raise")
        self._marks = len(site.marked)
        self._check_growth()

    def _check_write(self, at: float, former: int, replicas: int) -> None:
        self.checked["max"] += 1
        if replicas > max(former, PODS_MAX):
            raise Broken(f"{replicas} pods are asked for, of at most {PODS_MAX}")
        if replicas > former:
            self._raised_at = at

    def _check_growth(self) -> None:
        """Check that a pool grows beside work that waits."""
        plant = self._site.plant
        now, queue = plant.now, plant.queue
        waited = now - plant.jobs[queue[0]].due if queue else 0.0
        starved = waited > _OBJECTIVE and plant.replicas < PODS_MAX and not plant.starting
        if not starved or now - self._raised_at < 1.0:
            self._starved_from = None
            return
        self._starved_from = self._starved_from or now
        since = now - max(self._starved_from, self.calm_from)
        self.checked["growth"] += 1
        self.longest_us["starved"] = max(int(since * 1e6), self.longest_us["starved"])
        if since > STARVED:
            raise Broken(f"work waits for {waited:.0f} s beside {plant.replicas} pods")


class Run:
    """A history of the autoscaler, by its seed."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(f"autoscaler {seed}")
        draw = self._draw
        world = World(Random(draw.random()))
        plant = Plant(seed, stuck=draw.choice((0.0, 0.0, 0.2)))
        self.site = Site(world, plant, Random(draw.random()))
        self.processes = [Process(self.site, number) for number in range(2)]
        self.watch = Watch(self.site, self.processes)
        for kind in FAULTS:
            if draw.random() < 0.4:
                for _ in range(draw.randint(1, 3)):
                    at = draw.uniform(10.0, CALM_FROM)
                    world.at(at, partial(self._happen, kind))
        plant.wrote = self._check_removals

    def _check_removals(self, former: int, replicas: int) -> None:
        """Check whom a write of the replicas removes, and by what it was decided."""
        plant = self.site.plant
        demand = self.site.demand
        if replicas < former and demand is not None:
            old = (self.site.now - demand.at).total_seconds()
            self.watch.checked["stale"] += 1
            if old > STALE:
                raise Broken(f"pods are removed by a demand that is {old:.0f} s old")
        for gone in plant.removals if replicas < former else ():
            self.watch.checked["removal"] += 1
            if gone.jobs:
                raise Broken(f"{gone.uid} is removed under {gone.jobs} jobs")

    def play(self, steps: int) -> int:
        """Play it, a second at a step; returns the steps that were played."""
        site, world = self.site, self.site.world
        for second in range(1, SECONDS + 1):
            if second > steps:
                return steps
            world.advance(second - world.now if second > world.now else 0.0)
            site.plant.advance(world.now)
            site.count()
            if second == int(CALM_FROM):
                self._calm()
            self.watch.look()
        return SECONDS

    def _calm(self) -> None:
        self.site.weather.busy = self.site.weather.unanswered = self.site.weather.slow = 0.0
        self.site.plant.heal()
        self._disturbed(0.0)

    def _disturbed(self, seconds: float) -> None:
        self.watch.calm_from = max(self.watch.calm_from, self.site.world.now + seconds)

    def _happen(self, kind: str) -> None:
        draw, site = self._draw, self.site
        seconds = draw.uniform(1.0, 40.0)
        now, weather = site.world.now, site.weather
        site.plant.advance(now)
        process = draw.choice(self.processes)
        match kind:
            case "database":
                weather.database_down_until = now + seconds
            case "scheduler":
                seconds *= 3
                weather.scheduler_silent_until = now + seconds
                weather.epoch += 1
            case "api":
                weather.busy, weather.unanswered, weather.slow = 0.3, 0.2, 0.2
            case "kill":
                process.candidate.kill()
                self.processes.remove(process)
                self.processes.append(Process(site, draw.randrange(1 << 20)))
            case "freeze":
                process.candidate.freeze(seconds)
            case "watch":
                process.kube.stale_until = now + seconds
            case _:
                site.plant.evict(1 if kind == "evict" else draw.randint(1, 4))
        self._disturbed(seconds)


FAULTS = ("database", "scheduler", "api", "kill", "freeze", "watch", "evict", "node")


def simulate(seed: int, steps: int) -> Verdict:
    """Simulate what a seed stands for, up to so many seconds."""
    run = Run(seed)
    broken = ""
    try:
        played = run.play(steps)
    except Broken as error:
        played = int(run.site.world.now) + 1
        broken = f"{run.site.world.now:.1f} s: {error}"
    return Verdict("autoscaler", seed, played, broken, run.watch.checked, run.watch.longest_us)
