"""A controller over a real database and a cluster in memory, and what a test does to both."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.controller import Controller
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.election.vacancy import Problem
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.targets import Target
from tests.support.kubernetes.fake import FakeKube
from tests.support.logins import LogIn, as_login

POOL = "default"
DEPLOYMENT = "release-worker-default"
POLICY = """
pools:
  - name: default
    queues: ["*"]
    autoscale: {objective: 10s, min: 0, max: 20, slots: 10, stabilization: 0s, keep: 0s}
"""


def targets_of(deployments: Mapping[str, str]) -> dict[str, Target]:
    """Return the targets of pools whose pods Deployments hold."""
    return {pool: Target(name=name) for pool, name in deployments.items()}


@dataclass
class FakeLeadership:
    """A Lease that is ours while the test says so."""

    ours: bool = True
    term: int = 1
    problem: Problem | None = None

    def is_leader(self) -> bool:
        """Return whether it is."""
        return self.ours


@dataclass
class Scene:
    """A controller, its cluster and its database."""

    db: Connection[TupleRow]
    database: Database
    kube: FakeKube
    leadership: FakeLeadership
    now: list[float]
    metrics: Metrics = field(default_factory=Metrics)
    options: Options = field(
        default_factory=lambda: Options(holder="me", targets=targets_of({POOL: DEPLOYMENT}))
    )

    def __post_init__(self) -> None:
        """Make the controller."""
        self.controller = self.another()

    def another(self) -> Controller:
        """Return one more controller over the same."""
        return Controller(
            self.kube,
            self.database,
            self.leadership,
            self.options,
            metrics=self.metrics,
            clock=lambda: self.now[0],
        )

    def step(self, times: int = 1) -> None:
        """Step, five seconds apart."""
        for _ in range(times):
            self.now[0] += 5
            self.controller.step()

    @property
    def replicas(self) -> int:
        """What is asked of the Deployment."""
        return self.kube.workloads[POOL].replicas

    def need(self, *, slots: int, work: float = 0.0) -> None:
        """Let the scheduler say what the pool needs."""
        self.db.execute(
            "INSERT INTO fairlead.pool_demand (pool, epoch, at, became_runnable_total,"
            " work_slot_seconds, slots_useful, slots_allowed, scheduled_slot_seconds,"
            " service_mean, service_variance, oldest_runnable_at)"
            " VALUES (%(pool)s, 1, clock_timestamp(), %(slots)s, %(work)s, %(slots)s, 200,"
            " '{0,0,0,0}', 1, 0, CASE WHEN %(work)s > 0 THEN clock_timestamp() END)"
            " ON CONFLICT (pool) DO UPDATE SET at = excluded.at, slots_useful = %(slots)s,"
            " work_slot_seconds = %(work)s, oldest_runnable_at = excluded.oldest_runnable_at",
            {"pool": POOL, "slots": slots, "work": work},
        )

    def start(self) -> None:
        """Let the pods that are asked for come up, with a worker each."""
        self.kube.settle(ready=True)
        for pod in self.kube.pods.values():
            self.db.execute(
                "INSERT INTO fairlead.worker_leases (name, pool, slots, slots_full, pod_uid,"
                " pod_name, lease_until) SELECT %(name)s, %(pool)s, 10, 10, %(uid)s, %(name)s,"
                " now() + interval '1 hour' WHERE NOT EXISTS (SELECT FROM"
                " fairlead.worker_leases w WHERE w.pod_uid = %(uid)s)",
                {"name": pod.name, "pool": POOL, "uid": pod.uid},
            )

    def marked(self) -> set[str]:
        """Return the UIDs of marked pods."""
        rows = self.db.execute(
            "SELECT pod_uid FROM fairlead.pod_drains WHERE drain_until > now()"
        )
        return {str(row[0]) for row in rows}

    def drain(self) -> None:
        """Let every marked pod be empty and not ready."""
        self.db.execute("UPDATE fairlead.pod_drains SET drained_at = now()")
        for pod in list(self.kube.pods.values()):
            if pod.uid in self.marked():
                self.kube.set_pod(pod.name, ready=False)

    def unneeded(self) -> tuple[int, int]:
        """Let pods come up and be needed no more; return how many, and how many are marked."""
        self.need(slots=40, work=400.0)
        self.step()
        self.start()
        before = self.replicas
        self.need(slots=0)
        self.step(20)
        self.need(slots=0)
        self.step(2)
        return before, len(self.marked())

    def emptied(self) -> tuple[int, int]:
        """Let pods be needed no more, and the marked ones be empty; return as `unneeded`."""
        found = self.unneeded()
        self.drain()
        self.need(slots=0)
        return found

    def status(self) -> dict[str, object]:
        """Return what the status ConfigMap says of the pool."""
        said = yaml.safe_load(self.kube.status_data["status"])
        return dict(said["pools"][POOL])


@contextmanager
def staged(db: Connection[TupleRow], database_url: str, log_in: LogIn) -> Generator[Scene]:
    """Set a scene with a policy and a Deployment without pods, until the block ends."""
    policy_storage.store(db, POLICY)
    user = str(log_in("fairlead_autoscaler").info.user)
    now = [1000.0]
    database = Database(DatabaseSettings(database_url=as_login(database_url, user)))
    kube = FakeKube(clock=lambda: now[0])
    kube.add_pool(POOL, name=DEPLOYMENT)
    try:
        yield Scene(db, database, kube, FakeLeadership(), now)
    finally:
        database.close()
