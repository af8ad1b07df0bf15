"""What a controller sees of a plant, and writes to it: the cluster's API and the database.

Both fail now and then: before a write has taken effect, after it, or by taking long.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from random import Random

from bench.autoscaling.fairlead import BEGUN, Fairlead, instant, pod_worker, seen_pod
from bench.autoscaling.fleet import Pod
from fairlead.db.connect import Unreachable
from fairlead_autoscaler.controller.budget import ServerConnections
from fairlead_autoscaler.controller.database import Deposed, DrainMarks
from fairlead_autoscaler.controller.database_snapshot import (
    PolicyVersion,
    PoolLoad,
    PoolWorker,
    Snapshot,
)
from fairlead_autoscaler.decision.inputs import Demand, Workload
from fairlead_autoscaler.kube.port import (
    BusyError,
    ClusterSnapshot,
    ConflictError,
    Event,
    NotFoundError,
    Scale,
    UnreachableError,
    WatchedPod,
)
from tests.simulation.plant import PODS_MAX, SLOTS, Plant
from tests.support.kubernetes.election import Candidate, World

POOL, NAME = "default", "release-worker-default"
POLICY = f"""
pools:
  - name: {POOL}
    queues: ["*"]
    autoscale: {{objective: 10s, min: 0, max: {PODS_MAX}, slots: {SLOTS}, keep: 90s,
                startPrior: 8s}}
"""


@dataclass(slots=True)
class Weather:
    """What fails now, as shares of the calls, and what has stopped."""

    busy: float = 0.0
    """Of requests to the cluster, refused."""
    unanswered: float = 0.0
    """Of writes to the cluster, carried out."""
    slow: float = 0.0
    """Of writes to the cluster, after a few seconds."""
    database_down_until: float = 0.0
    scheduler_silent_until: float = 0.0
    epoch: int = 1
    """The scheduler's leader."""


@dataclass(slots=True)
class Site:
    """The plant, the clock of everything, and what happens to calls."""

    world: World
    plant: Plant
    dice: Random
    weather: Weather = field(default_factory=Weather)
    autoscaler_epoch: int = 0
    demand: Demand | None = None
    base: int = 0
    """How many jobs had become runnable when the scheduler's epoch began."""
    written: list[tuple[float, int, int]] = field(default_factory=list[tuple[float, int, int]])
    """When replicas were written, and from how many to how many."""
    marked: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """When pods were newly marked."""

    @property
    def now(self) -> datetime:
        """The database's time."""
        return instant(self.plant.now)

    def count(self) -> None:
        """Let the scheduler's leader say what the pool needs, if it speaks and is heard."""
        weather, now = self.weather, self.plant.now
        if now < max(weather.scheduler_silent_until, weather.database_down_until):
            return
        if self.demand is None or self.demand.epoch != weather.epoch:
            self.base = self.plant.arrived
        counted = Fairlead(self.plant).demand(self.plant)
        self.demand = Demand(
            pool=POOL,
            epoch=weather.epoch,
            at=counted.at,
            became_runnable_total=self.plant.arrived - self.base,
            work_slot_seconds=counted.work_slot_seconds,
            slots_useful=counted.slots_useful,
            slots_kept=0,
            slots_allowed=counted.slots_allowed,
            oldest_runnable_at=counted.oldest_runnable_at,
            scheduled_slot_seconds=counted.scheduled_slot_seconds,
            service_mean=counted.service_mean,
            service_variance=counted.service_variance,
        )


class SiteKube:
    """The port of one controller: a watch of its own, and requests that fail."""

    def __init__(self, site: Site, candidate: Candidate) -> None:
        self._site, self._candidate = site, candidate
        self._seen: dict[str, float] = {}
        self._stale: ClusterSnapshot | None = None
        self.stale_until = 0.0
        """Until when its watch stands still."""

    def snapshot(self) -> ClusterSnapshot:
        """Return what the watch knows."""
        if self._stale is not None and self._site.plant.now < self.stale_until:
            return self._stale
        plant = self._site.plant
        pods = tuple(self._pod(pod) for pod in plant.pods.values())
        living = len(plant.living)
        workload = Workload(
            name=NAME,
            uid=f"uid-{NAME}",
            replicas=plant.replicas,
            version=str(plant.version),
            generation=1,
            observed_generation=1,
            status_replicas=living,
            updated_replicas=living,
            terminating_replicas=len(plant.pods) - living,
        )
        self._stale = ClusterSnapshot(
            pods=pods,
            workloads={POOL: workload},
            missing=(),
            as_of=self._candidate.clock(),
        )
        return self._stale

    def _pod(self, pod: Pod) -> WatchedPod:
        seen = seen_pod(pod, self._site.plant.now, -1.0)
        self._seen.setdefault(pod.uid, self._candidate.clock())
        return WatchedPod(
            uid=pod.uid,
            name=pod.uid,
            pool=POOL,
            created_at=seen.created_at,
            seen_at=self._seen[pod.uid],
            ready=seen.ready,
            was_ready=seen.was_ready,
            terminating=seen.terminating,
            unschedulable=seen.unschedulable,
        )

    def create_jobs(self, pool: str, *, total: int, may_go_on: Callable[[], bool]) -> None:
        """Raise: the pool's pods are a Deployment's."""
        del total, may_go_on
        raise NotFoundError(f"the pool {pool} has no Jobs")

    def apply_scale(self, address: str, *, replicas: int, version: str) -> Scale:
        """Write the replicas, unless the Deployment is newer."""
        site, weather, dice = self._site, self._site.weather, self._site.dice
        assert address == NAME
        if dice.random() < weather.slow:
            site.world.advance(dice.uniform(0.0, 8.0))
        if dice.random() < weather.busy:
            raise BusyError("the server is overloaded")
        plant = site.plant
        if version != str(plant.version):
            raise ConflictError(f"{address} is at {plant.version}, not at {version}")
        former = plant.replicas
        plant.write(replicas)
        site.written.append((plant.now, former, replicas))
        if dice.random() < weather.unanswered:
            raise UnreachableError("no answer came")
        return Scale(replicas=replicas, version=str(plant.version))

    def record_event(self, event: Event) -> None:
        """Drop it."""
        del event

    def write_status(self, data: Mapping[str, str]) -> None:
        """Drop it."""
        del data


class SiteDatabase:
    """The database session of one controller."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def _answer(self) -> None:
        if self._site.plant.now < self._site.weather.database_down_until:
            raise Unreachable("the database does not answer")

    def _lead(self, epoch: int) -> None:
        self._answer()
        if epoch != self._site.autoscaler_epoch:
            raise Deposed

    def begin_epoch(self, holder: str, *, release: str = "") -> int:
        """Begin an epoch."""
        del holder, release
        self._answer()
        self._site.autoscaler_epoch += 1
        return self._site.autoscaler_epoch

    def record_policy_source(self, source: str, place: str) -> None:
        """Drop it."""
        del source, place

    def record_decision(self, pool: str, *, at: datetime, decision: object, epoch: int) -> None:
        """Drop it, if this epoch leads."""
        del pool, at, decision
        self._lead(epoch)

    def has_woken(self) -> bool:
        """Say that no pool has woken."""
        return False

    def older_policies(self, *, after: int, before: int) -> tuple[PolicyVersion, ...]:
        """Return that there are none."""
        del after, before
        return ()

    def snapshot(self, *, known: int | None, asks_queues: bool) -> Snapshot:
        """Read everything."""
        self._answer()
        site, plant = self._site, self._site.plant
        scheduler = Fairlead(plant)
        scheduler.last = site.demand
        started = [pod for pod in plant.pods.values() if pod.ready_at <= plant.now]
        rows = [*started, *(each.pod for each in plant.lost)]
        document = None if known == 1 else POLICY
        return Snapshot(
            now=site.now,
            demand={} if site.demand is None else {POOL: site.demand},
            workers=tuple(self._worker(pod) for pod in rows),
            loads=tuple(
                PoolLoad(pool=POOL, **asdict(scheduler.load(pod, plant)))
                for pod in started
                if pod.running
            ),
            connections=ServerConnections(most=1000, reserved=0),
            policy=PolicyVersion(version=1, digest="one", document=document),
            queues=("q",) if asks_queues and plant.queue else (),
        )

    def _worker(self, pod: Pod) -> PoolWorker:
        found = pod_worker(pod, self._site.plant)
        return PoolWorker(
            pool=POOL,
            pod_uid=found.pod_uid,
            slots_full=found.slots_full,
            registered_at=found.registered_at,
            drain_until=found.drain_until,
            drained_at=found.drained_at,
        )

    def mark_drain(self, marks: DrainMarks, *, epoch: int) -> frozenset[str]:
        """Mark pods, and return the empty ones."""
        if not marks.pods:
            return frozenset()
        self._lead(epoch)
        plant, empty = self._site.plant, set[str]()
        until = (marks.until - BEGUN).total_seconds()
        for uid in marks.pods:
            pod = plant.pods.get(uid)
            if pod is None:
                continue
            if pod.drain_until <= plant.now:
                pod.drained_at = None
                self._site.marked.append((plant.now, uid))
            plant.mark(uid, until)
            if pod.drained_at is not None:
                empty.add(uid)
        return frozenset(empty)

    def unmark_drain(self, pods: Sequence[str], *, epoch: int) -> None:
        """Let pods take jobs again."""
        if not pods:
            return
        self._answer()
        if epoch == self._site.autoscaler_epoch:
            for uid in pods:
                if uid in self._site.plant.pods:
                    self._site.plant.mark(uid, 0.0)
