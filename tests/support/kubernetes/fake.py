"""A cluster in memory for tests of the controller: one thread, no time of its own, no luck.

The test says what is there (`add_pool`, `edit`, `set_pod`), lets the ReplicaSets act with
`settle`, breaks things with `fail`, and reads what was asked for in `calls`. Versions count up
as those of a real API server do: each write and each change of a status makes a new one.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from fairlead_autoscaler.decision.inputs import ContainerDefaults, QuotaLimit, Workload
from fairlead_autoscaler.election.elector import Lease
from fairlead_autoscaler.kube.port import (
    ClusterSnapshot,
    ConflictError,
    Document,
    Documents,
    Event,
    KubeError,
    NotFoundError,
    Scale,
    WatchedPod,
)
from tests.support.kubernetes.replicas import first_to_go

START = datetime(2026, 1, 1, tzinfo=UTC)


def _no_time() -> float:
    return 0.0


@dataclass
class FakeKube:
    """The port, and the cluster behind it. `clock` is the port's, in seconds."""

    clock: Callable[[], float] = _no_time
    changed: Callable[[], None] = lambda: None
    """Called when a document changes, as the real port does."""
    pods: dict[str, WatchedPod] = field(default_factory=dict[str, WatchedPod])
    workloads: dict[str, Workload] = field(default_factory=dict[str, Workload])
    """By pool."""
    missing: tuple[str, ...] = ()
    policy: Documents = field(default_factory=lambda: Documents(live=None, values=None))
    record: Lease | None = field(default_factory=lambda: Lease(version="1"))
    status_data: dict[str, str] = field(default_factory=dict[str, str])
    events: list[Event] = field(default_factory=list[Event])
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    quota: int | None = None
    """Pods that the namespace may have; None: no quota counts them."""
    quota_limits: tuple[QuotaLimit, ...] = ()
    """What other quotas limit."""
    defaults: ContainerDefaults = field(default_factory=ContainerDefaults)
    calls: list[str] = field(default_factory=list[str])
    """Every request by the name of its method; `look` and `documents` are none."""
    _faults: defaultdict[str, list[KubeError]] = field(
        default_factory=lambda: defaultdict[str, list[KubeError]](list)
    )
    _stale: ClusterSnapshot | None = None
    _made: int = 0
    _version: int = 1

    # What the test does.

    def fail(self, method: str, *errors: KubeError) -> None:
        """Let the next calls of a method fail, before they have taken effect."""
        self._faults[method] += errors

    def freeze(self) -> None:
        """Let the pods' watch stand still: `look` shows what it shows now."""
        self._stale = self.snapshot()

    def thaw(self) -> None:
        """Let `look` show what there is again."""
        self._stale = None

    def add_pool(self, pool: str, *, replicas: int = 0, name: str | None = None) -> None:
        """Add a Deployment, without pods until `settle`."""
        name = name or f"release-worker-{pool}"
        self.workloads[pool] = Workload(
            name=name,
            uid=f"uid-{name}",
            replicas=replicas,
            version=self._next(),
            generation=1,
            observed_generation=1,
            status_replicas=0,
            updated_replicas=0,
            terminating_replicas=0,
            past_deadline=False,
            owner=None,
        )

    def set_pod(self, name: str, *, ready: bool) -> None:
        """Let a pod be ready or not."""
        pod = self.pods[name]
        self.pods[name] = replace(pod, ready=ready, was_ready=pod.was_ready or ready)
        self._touch(pod.pool)

    def settle(self, *, ready: bool = False) -> tuple[str, ...]:
        """Let the ReplicaSets make and delete pods; return the names of the deleted ones.

        Deleted ones go at once, in the order of a ReplicaSet. `ready`: all that remain and have
        never been ready become so.
        """
        gone: list[str] = []
        for pool, workload in self.workloads.items():
            here = [each for each in self.pods.values() if each.pool == pool]
            doomed = first_to_go(here, len(here) - workload.replicas)
            gone += [each.name for each in doomed]
            for each in doomed:
                del self.pods[each.name]
            for _ in range(workload.replicas - len(here)):
                self._add_pod(pool)
            self._touch(pool)
        if ready:
            for name in [each.name for each in self.pods.values() if not each.was_ready]:
                self.set_pod(name, ready=True)
        return tuple(gone)

    def intrude(self, pool: str, replicas: int, *, owner: str | None = None) -> None:
        """Write `replicas` as another client."""
        workload = self.workloads[pool]
        self.workloads[pool] = replace(
            workload, replicas=replicas, owner=owner, version=self._next()
        )

    def edit(
        self,
        *,
        live: str | None = None,
        values: str | None = None,
        writers: tuple[str, ...] = (),
    ) -> None:
        """Change what the ConfigMaps hold; None: as it was."""
        self.policy = Documents(
            live=self.policy.live if live is None else self._document("policy", live, writers),
            values=(
                self.policy.values
                if values is None
                else self._document("policy-values", values, writers)
            ),
        )
        self.changed()

    # The port.

    def snapshot(self) -> ClusterSnapshot:
        """Return what the watches know."""
        if self._stale is not None:
            return self._stale
        return ClusterSnapshot(
            pods=tuple(self.pods[name] for name in sorted(self.pods)),
            workloads=dict(self.workloads),
            missing=self.missing,
            as_of=self.clock(),
        )

    def documents(self) -> Documents:
        """Return the policy's ConfigMaps."""
        return self.policy

    def read_documents(self) -> Documents:
        """Return the policy's ConfigMaps as they are now."""
        self._called("read_documents")
        return self.policy

    def scale(self, address: str) -> Scale:
        """Return what a Deployment is asked for."""
        self._called("scale")
        workload = self.workloads[self._pool(address)]
        return Scale(replicas=workload.replicas, version=workload.version)

    def apply_scale(self, address: str, *, replicas: int, version: str) -> Scale:
        """Ask for so many pods."""
        self._called("apply_scale")
        pool = self._pool(address)
        workload = self.workloads[pool]
        if workload.version != version:
            raise ConflictError(f"{address} is at {workload.version}, not at {version}")
        self.workloads[pool] = replace(
            workload, replicas=replicas, owner=None, version=self._next()
        )
        return Scale(replicas=replicas, version=self.workloads[pool].version)

    def create_jobs(self, pool: str, *, total: int, may_go_on: Callable[[], bool]) -> None:
        """Make the Jobs that are missing; `settle` makes their pods."""
        self._called("create_jobs")
        if may_go_on():
            workload = self.workloads[pool]
            more = max(total, workload.replicas)
            self.workloads[pool] = replace(workload, replicas=more)

    def record_event(self, event: Event) -> None:
        """Record an event."""
        self._called("record_event")
        self.events.append(event)

    def write_status(self, data: Mapping[str, str]) -> None:
        """Replace what the status ConfigMap holds."""
        self._called("write_status")
        self.status_data = dict(data)

    def lease(self) -> Lease:
        """Return the Lease."""
        self._called("lease")
        if self.record is None:
            raise NotFoundError("there is no Lease")
        return self.record

    def write_lease(self, lease: Lease) -> Lease:
        """Replace the Lease."""
        self._called("write_lease")
        if self.record is None:
            raise NotFoundError("there is no Lease")
        if lease.version != self.record.version:
            raise ConflictError(f"the lease is at {self.record.version}, not {lease.version}")
        self.record = replace(lease, version=self._next())
        return self.record

    def create_lease(self, lease: Lease) -> Lease:
        """Create the Lease."""
        self._called("create_lease")
        if self.record is not None:
            raise ConflictError("there is a Lease")
        self.record = replace(lease, version=self._next())
        return self.record

    def autoscalers(self) -> Mapping[str, tuple[str, ...]]:
        """Return other autoscalers by their target."""
        self._called("autoscalers")
        return dict(self.targets)

    def quotas(self) -> tuple[QuotaLimit, ...]:
        """Return what quotas limit."""
        self._called("quotas")
        if self.quota is None:
            return self.quota_limits
        left = 1000 * (self.quota - len(self.pods))
        pods = QuotaLimit(quota="q", resource="pods", hard=str(self.quota), left=left)
        return (pods, *self.quota_limits)

    def container_defaults(self) -> ContainerDefaults:
        """Return what LimitRanges fill in."""
        self._called("container_defaults")
        return self.defaults

    # How.

    def _called(self, method: str) -> None:
        self.calls.append(method)
        if self._faults[method]:
            raise self._faults[method].pop(0)

    def _pool(self, address: str) -> str:
        for pool, each in self.workloads.items():
            if each.address == address:
                return pool
        raise NotFoundError(f"there is no {address}")

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def _document(self, name: str, text: str, writers: tuple[str, ...]) -> Document:
        return Document(
            name=name,
            uid=f"uid-{name}",
            text=text,
            version=self._next(),
            writers=writers,
        )

    def _add_pod(self, pool: str) -> None:
        self._made += 1
        name = f"{self.workloads[pool].name}-{self._made:04}"
        self.pods[name] = WatchedPod(
            uid=f"uid-{name}",
            name=name,
            pool=pool,
            created_at=START + timedelta(seconds=int(self.clock())),
            seen_at=self.clock(),
            ready=False,
            was_ready=False,
            terminating=False,
            unschedulable=False,
        )

    def _touch(self, pool: str) -> None:
        """Let the status follow; a real one moves the version as well."""
        count = sum(each.pool == pool for each in self.pods.values())
        self.workloads[pool] = replace(
            self.workloads[pool],
            status_replicas=count,
            updated_replicas=count,
            version=self._next(),
        )
