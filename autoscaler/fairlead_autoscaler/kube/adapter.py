"""The port over the Kubernetes API: watches for what changes, one request for each write.

There is one watch of the workers' pods, one for each pool's target (a right that names its
objects permits watching them one by one) and one for each ConfigMap of the policy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import TypeVar

from pydantic import TypeAdapter

from fairlead_autoscaler.decision.inputs import ContainerDefaults, QuotaLimit
from fairlead_autoscaler.election.elector import Lease
from fairlead_autoscaler.kube import convert, models
from fairlead_autoscaler.kube.client import APPLY, WRITE_SECONDS, Client
from fairlead_autoscaler.kube.events import Events
from fairlead_autoscaler.kube.holders import Holders
from fairlead_autoscaler.kube.leases import Leases
from fairlead_autoscaler.kube.port import (
    FIELD_OWNER,
    ClusterSnapshot,
    Document,
    Documents,
    Event,
    KubeError,
    NotFoundError,
    NotSyncedError,
    Scale,
    WatchedPod,
)
from fairlead_autoscaler.kube.watch import AnyWatch, Mirror, Watch
from fairlead_autoscaler.kube.watching import Watching, labelled, named
from fairlead_autoscaler.targets import Target

_LIST = {"limit": "500"}

W = TypeVar("W", bound=models.Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of the objects that the controller uses; its rights list the same."""

    namespace: str
    pods: str
    """The label selector of all workers' pods of the release."""
    targets: Mapping[str, Target]
    """What holds each pool's pods."""
    policy: str | None = None
    """The ConfigMap that people edit; None: neither is read, and no right to it needed."""
    policy_values: str | None = None
    """The ConfigMap that the chart renders."""
    status: str
    """The ConfigMap with the state of the pools."""
    lease: str
    identity: str
    """This controller's: its events carry it."""


class Cluster:
    """The port over HTTP. `start` begins the watches, `close` ends them; each once."""

    def __init__(
        self,
        client: Client,
        names: Names,
        *,
        clock: Callable[[], float] = monotonic,
        changed: Callable[[], None] = lambda: None,
        on_error: Callable[[str, KubeError], None] = lambda _path, _error: None,
    ) -> None:
        """Watch nothing yet.

        Args:
            client: The client of the API server.
            names: What to work with.
            clock: Seconds; the clock of `ClusterSnapshot.as_of` and `WatchedPod.seen_at`.
            changed: Called from a watch's thread after a document of the policy changed.
            on_error: Called from a watch's thread with its path and error.
        """
        self._client = client
        self._names = names
        self._stop = Signal()
        self._clock = clock
        self._watching = Watching(client, clock=clock, stop=self._stop, on_error=on_error)
        space = f"namespaces/{names.namespace}"
        self._maps = f"/api/v1/{space}/configmaps"
        self._core = f"/api/v1/{space}"
        self._hpas = f"/apis/autoscaling/v2/{space}/horizontalpodautoscalers"
        self._events = Events(client, namespace=names.namespace, identity=names.identity)
        self._leases = Leases(client, namespace=names.namespace, name=names.lease)
        self._pods = self._watching.watch(
            labelled(
                f"{self._core}/pods",
                names.pods,
                page=models.PODS,
                line=models.POD,
                uid=lambda each: each.metadata.uid,
            ),
            Mirror[models.PodObject, WatchedPod](convert.pod),
        )
        self._holders = Holders(
            self._watching,
            targets=names.targets,
            namespace=names.namespace,
            selector=names.pods,
        )
        self._maps_of_policy = {
            name: self._watch_map(name, changed)
            for name in (names.policy, names.policy_values)
            if name is not None
        }

    def start(self) -> None:
        """Begin to watch."""
        for each in self._watches():
            Thread(target=each.run, name=f"watch {each.name}", daemon=True).start()

    def close(self) -> None:
        """Stop watching; the last snapshot stays readable."""
        self._stop.set()
        for each in self._watches():
            each.close()

    def snapshot(self) -> ClusterSnapshot:
        """Return what the watches know; no request."""
        as_of = self._pods.mirror.as_of
        if as_of is None or any(each.as_of is None for each in self._holders.watches()):
            raise NotSyncedError("pods and what holds them are not known yet")
        found = {pool: self._holders.of(pool) for pool in self._names.targets}
        pods = (each for each in self._pods.mirror.values() if each.pool in found)
        return ClusterSnapshot(
            pods=tuple(sorted(pods, key=lambda pod: pod.name)),
            workloads={pool: each for pool, each in found.items() if each is not None},
            missing=tuple(pool for pool, each in found.items() if each is None),
            as_of=as_of,
        )

    def documents(self) -> Documents:
        """Return the policy's ConfigMaps as the watches know them; no request."""
        if any(each.mirror.as_of is None for each in self._maps_of_policy.values()):
            raise NotSyncedError("the policy's ConfigMaps are not known yet")
        live, rendered = (
            self._maps_of_policy[name].mirror.values() if name is not None else ()
            for name in (self._names.policy, self._names.policy_values)
        )
        return Documents(live=next(iter(live), None), values=next(iter(rendered), None))

    def read_documents(self) -> Documents:
        """Request both ConfigMaps; their mirrors are updated."""
        for name, each in self._maps_of_policy.items():
            try:
                read = self._read(self._maps, name, models.ONE_CONFIG_MAP)
            except NotFoundError:
                each.mirror.replace((), as_of=self._clock())
            else:
                each.mirror.put(read.metadata.uid, read, as_of=self._clock())
        return self.documents()

    def scale(self, address: str) -> Scale:
        """Request a target's scale."""
        return self._holders.scale(address)

    def apply_scale(self, address: str, *, replicas: int, version: str) -> Scale:
        """Request this number of pods, unless the target is newer than `version`."""
        return self._holders.apply_scale(address, replicas=replicas, version=version)

    def create_jobs(self, pool: str, *, total: int, may_go_on: Callable[[], bool]) -> None:
        """Make as many Jobs of a pool as are missing for so many that have not ended."""
        self._holders.create_jobs(pool, total=total, may_go_on=may_go_on)

    def record_event(self, event: Event) -> None:
        """Record an event; the same again within six minutes increments its count."""
        self._events.record(event, now=self._clock())

    def write_status(self, data: Mapping[str, str]) -> None:
        """Replace all that we wrote to the status ConfigMap."""
        self._client.call(
            "PATCH",
            f"{self._maps}/{self._names.status}",
            query={"fieldManager": FIELD_OWNER, "force": "true"},
            body={
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self._names.status},
                "data": dict(data),
            },
            content_type=APPLY,
            seconds=WRITE_SECONDS,
        )

    def lease(self) -> Lease:
        """Request the Lease."""
        return self._leases.read()

    def write_lease(self, lease: Lease) -> Lease:
        """Replace the Lease of that version, and return it as stored."""
        return self._leases.write(lease)

    def create_lease(self, lease: Lease) -> Lease:
        """Create the Lease, and return it as stored."""
        return self._leases.create(lease)

    def autoscalers(self) -> Mapping[str, tuple[str, ...]]:
        """Request the HorizontalPodAutoscalers, by kind and name of what they target."""
        body = self._client.call("GET", self._hpas, query=_LIST)
        found: dict[str, tuple[str, ...]] = {}
        for each in models.read(models.AUTOSCALERS, body).items:
            target = each.spec.scale_target_ref
            key = f"{target.kind}/{target.name}"
            found[key] = (*found.get(key, ()), each.metadata.name)
        return found

    def quotas(self) -> tuple[QuotaLimit, ...]:
        """Request the limits of the namespace's quotas."""
        body = self._client.call("GET", f"{self._core}/resourcequotas", query=_LIST)
        return convert.quota_limits(models.read(models.QUOTAS, body).items)

    def container_defaults(self) -> ContainerDefaults:
        """Request what LimitRanges fill in."""
        body = self._client.call("GET", f"{self._core}/limitranges", query=_LIST)
        return convert.container_defaults(models.read(models.LIMIT_RANGES, body).items)

    def _watch_map(
        self, name: str, changed: Callable[[], None]
    ) -> Watch[models.ConfigMap, Document]:
        source = named(
            self._maps,
            name,
            page=models.CONFIG_MAPS,
            line=models.CONFIG_MAP,
            uid=lambda each: each.metadata.uid,
        )
        return self._watching.watch(
            source, Mirror[models.ConfigMap, Document](convert.document, changed)
        )

    def _watches(self) -> tuple[AnyWatch, ...]:
        return (
            self._pods,
            *self._holders.watches(),
            *self._maps_of_policy.values(),
        )

    def _read(self, path: str, name: str, adapter: TypeAdapter[W]) -> W:
        return models.read(adapter, self._client.call("GET", f"{path}/{name}"))
