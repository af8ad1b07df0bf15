"""A pool's pods as processes of this machine: what the autoscaler sees, and may ask for.

The autoscaler asks for a number of pods; the owner of the processes provides them, as a
ReplicaSet does: it stops those first that are not ready, which are the empty ones. So the
decision, and the way in which a pod is emptied before it goes, are the same as on a cluster.
A ReplicaSet would stop a pod that has taken a job a moment before; here it can be seen, and
that one stays until it holds none.

What a cluster has beside pods is not here: no other writer, no quota, no rollout, no
ConfigMap. There is one autoscaler, and it always leads.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import Protocol
from uuid import uuid4

from fairlead_autoscaler.decision.inputs import ContainerDefaults, QuotaLimit, Workload
from fairlead_autoscaler.election.elector import Lease
from fairlead_autoscaler.election.vacancy import Problem
from fairlead_autoscaler.kube.port import (
    ClusterSnapshot,
    ConflictError,
    Documents,
    Event,
    NotFoundError,
    Scale,
    WatchedPod,
)
from fairlead_cli.dev.fleet import Program

Serving = Callable[[], Mapping[str, int] | None]
"""Returns how many jobs each pod that is ready holds, by UID; None: not known now."""
Make = Callable[[str, Mapping[str, str]], Program]
"""Makes the program of a pod from its name and from what it is to find in its environment."""


class Processes(Protocol):
    """Where programs run; a `Fleet` is one."""

    def start(self, program: Program) -> None:
        """Start a program, and keep it up."""
        ...

    def dismiss(self, name: str) -> None:
        """Ask a program to stop, and do not start it again."""
        ...

    def names(self) -> Collection[str]:
        """Return the programs that run, the dismissed ones too until they have ended."""
        ...


class SoleLeader:
    """The lead of an autoscaler that has no other replica."""

    term = 1
    problem: Problem | None = None

    def is_leader(self) -> bool:
        """Tell that it does."""
        return True


class LocalPods:
    """The pods of one pool, as the autoscaler's port.

    The autoscaler's thread calls the port's methods, the owner of the processes `settle`.

    Args:
        processes: Where they run.
        make: Makes a pod's program.
        serving: Tells which pods are ready, and hold jobs; asked by `settle`.
        pool: The pool.
        replicas: How many there are at first.
        clock: In seconds.
    """

    def __init__(
        self,
        processes: Processes,
        make: Make,
        serving: Serving,
        *,
        pool: str,
        replicas: int,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._processes = processes
        self._make = make
        self._serving = serving
        self._pool = pool
        self._replicas = replicas
        self._clock = clock
        self._turn = threading.Lock()
        self._pods: dict[str, WatchedPod] = {}
        self._made: int = 0
        self._version: int = 1
        self._as_of = clock()

    @property
    def name(self) -> str:
        """The name under which the number of pods is asked for."""
        return f"local-{self._pool}"

    def settle(self) -> None:
        """Come to as many pods as are asked for; to be called a few times a second.

        A pod whose process has died stays: the fleet starts it again, as a container is in its
        pod. One that the fleet keeps up no more is replaced. While it is not known which pods
        serve, none is stopped.
        """
        as_of = self._clock()
        serving = self._serving()
        running = set(self._processes.names())
        with self._turn:
            self._pods = {name: pod for name, pod in self._pods.items() if name in running}
            if serving is not None:
                self._see(serving)
                self._as_of = as_of
            staying = [pod for pod in self._pods.values() if not pod.terminating]
            if serving is not None:
                idle = [pod for pod in staying if not serving.get(pod.uid)]
                for pod in first_to_go(idle, len(staying) - self._replicas):
                    self._dismiss(pod)
            for _ in range(self._replicas - len(staying)):
                self._add()

    def snapshot(self) -> ClusterSnapshot:
        """Return the pods as `settle` left them."""
        with self._turn:
            return ClusterSnapshot(
                pods=tuple(self._pods[name] for name in sorted(self._pods)),
                workloads={self._pool: self._deployment()},
                missing=(),
                as_of=self._as_of,
            )

    def scale(self, address: str) -> Scale:
        """Return how many pods are asked for."""
        with self._turn:
            self._known(address)
            return Scale(replicas=self._replicas, version=str(self._version))

    def apply_scale(self, address: str, *, replicas: int, version: str) -> Scale:
        """Ask for so many pods; `settle` comes to them."""
        with self._turn:
            self._known(address)
            if version != str(self._version):
                raise ConflictError(f"{address} is at {self._version}, not at {version}")
            self._version += 1
            self._replicas = replicas
            return Scale(replicas=replicas, version=str(self._version))

    def create_jobs(self, pool: str, *, total: int, may_go_on: Callable[[], bool]) -> None:
        """Raise: workers on one machine are no Jobs."""
        del total, may_go_on
        raise NotFoundError(f"the pool {pool} has no Jobs on one machine")

    def documents(self) -> Documents:
        """Return none: the policy is in the database."""
        return Documents(live=None, values=None)

    def read_documents(self) -> Documents:
        """Return none: the policy is in the database."""
        return self.documents()

    def record_event(self, event: Event) -> None:
        """Leave it to the log, which says the same."""

    def status(self) -> Mapping[str, str]:
        """Return nothing: what was decided is in the database."""
        return {}

    def write_status(self, data: Mapping[str, str]) -> None:
        """Leave it to the database, where the last decision is."""

    def lease(self) -> Lease:
        """Raise: there is no election here."""
        raise NotFoundError("there is no lease on one machine")

    def write_lease(self, lease: Lease) -> Lease:
        """Raise: there is no election here."""
        raise NotFoundError(f"there is no lease {lease.version} on one machine")

    def create_lease(self, lease: Lease) -> Lease:
        """Raise: there is no election here."""
        raise NotFoundError(f"there is no lease for {lease.holder} on one machine")

    def autoscalers(self) -> Mapping[str, tuple[str, ...]]:
        """Return none."""
        return {}

    def container_defaults(self) -> ContainerDefaults:
        """Return that nothing is filled in."""
        return ContainerDefaults()

    def quotas(self) -> tuple[QuotaLimit, ...]:
        """Return none."""
        return ()

    def _dismiss(self, pod: WatchedPod) -> None:
        self._pods[pod.name] = replace(pod, terminating=True, ready=False)
        self._processes.dismiss(pod.name)

    def _see(self, serving: Collection[str]) -> None:
        for name, pod in self._pods.items():
            ready = pod.uid in serving and not pod.terminating
            self._pods[name] = replace(pod, ready=ready, was_ready=pod.was_ready or ready)

    def _add(self) -> None:
        self._made += 1
        name, uid = f"worker-{self._made}", str(uuid4())
        found = {"FAIRLEAD_POD_UID": uid, "FAIRLEAD_POD_NAME": name}
        self._processes.start(self._make(name, found))
        self._pods[name] = WatchedPod(
            uid=uid,
            name=name,
            pool=self._pool,
            created_at=datetime.now(UTC),
            seen_at=self._clock(),
            ready=False,
            was_ready=False,
            terminating=False,
            unschedulable=False,
        )

    def _deployment(self) -> Workload:
        leaving = sum(pod.terminating for pod in self._pods.values())
        staying = len(self._pods) - leaving
        return Workload(
            name=self.name,
            uid=self.name,
            replicas=self._replicas,
            version=str(self._version),
            generation=self._version,
            observed_generation=self._version,
            status_replicas=staying,
            updated_replicas=staying,
            terminating_replicas=leaving,
            past_deadline=False,
            owner=None,
        )

    def _known(self, name: str) -> None:
        if name != self.name:
            raise NotFoundError(f"there is no {name} on this machine")


def first_to_go(pods: Iterable[WatchedPod], count: int) -> list[WatchedPod]:
    """Return so many of the pods: those that are not ready, then the newest."""
    newest = sorted(pods, key=lambda pod: (pod.created_at, pod.name), reverse=True)
    return sorted(newest, key=lambda pod: pod.ready)[: max(0, count)]
