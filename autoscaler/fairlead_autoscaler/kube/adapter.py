"""The port over the Kubernetes API: watches for what changes, one request for each write.

There is one watch of the workers' pods, one for each pool's Deployment (a right that names its
objects permits watching them one by one) and one for each ConfigMap of the policy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import TypeVar

from pydantic import TypeAdapter

from fairlead_autoscaler.decision.inputs import ContainerDefaults, Deployment, QuotaLimit
from fairlead_autoscaler.election.elector import Lease
from fairlead_autoscaler.kube import convert, models
from fairlead_autoscaler.kube.client import APPLY, WRITE_SECONDS, Client
from fairlead_autoscaler.kube.events import Events
from fairlead_autoscaler.kube.leases import Leases
from fairlead_autoscaler.kube.port import (
    FIELD_OWNER,
    ClusterSnapshot,
    ConflictError,
    Document,
    Documents,
    Event,
    KubeError,
    NotFoundError,
    NotSyncedError,
    Scale,
    WatchedPod,
)
from fairlead_autoscaler.kube.watch import AnyWatch, Mirror, Source, Watch

_PODS_WINDOW_SECONDS = 12
"""Maximum age of the pods when nothing happens to them; a new request each time."""
_WINDOW_SECONDS = 290
_SILENCE_SECONDS = 90.0
"""Beyond a server's bookmarks, which come about once a minute."""
_MARGIN_SECONDS = 3.0
_LIST = {"limit": "500"}

W = TypeVar("W", bound=models.Part)
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of the objects that the controller uses; its rights list the same."""

    namespace: str
    pods: str
    """The label selector of all workers' pods of the release."""
    deployments: Mapping[str, str]
    """The Deployment of each pool."""
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
        self._on_error = on_error
        space = f"namespaces/{names.namespace}"
        self._maps = f"/api/v1/{space}/configmaps"
        self._apps = f"/apis/apps/v1/{space}/deployments"
        self._core = f"/api/v1/{space}"
        self._hpas = f"/apis/autoscaling/v2/{space}/horizontalpodautoscalers"
        self._events = Events(client, namespace=names.namespace, identity=names.identity)
        self._leases = Leases(client, namespace=names.namespace, name=names.lease)
        self._pods = self._watch(
            Source(
                path=f"{self._core}/pods",
                selector=("labelSelector", names.pods),
                page=models.PODS,
                line=models.POD,
                uid=lambda each: each.metadata.uid,
                window_seconds=_PODS_WINDOW_SECONDS,
                silence_seconds=_PODS_WINDOW_SECONDS + _MARGIN_SECONDS,
            ),
            Mirror[models.PodObject, WatchedPod](convert.pod),
        )
        self._deployments = {
            pool: self._watch_deployment(name) for pool, name in names.deployments.items()
        }
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
        if as_of is None or any(
            each.mirror.as_of is None for each in self._deployments.values()
        ):
            raise NotSyncedError("pods and Deployments are not known yet")
        found = {pool: each.mirror.values() for pool, each in self._deployments.items()}
        pods = (each for each in self._pods.mirror.values() if each.pool in found)
        return ClusterSnapshot(
            pods=tuple(sorted(pods, key=lambda pod: pod.name)),
            deployments={pool: each[0] for pool, each in found.items() if each},
            missing=tuple(pool for pool, each in found.items() if not each),
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

    def scale(self, name: str) -> Scale:
        """Request a Deployment's scale."""
        body = self._client.call("GET", f"{self._apps}/{name}/scale")
        return convert.scale(models.read(models.SCALE, body))

    def apply_scale(self, name: str, *, replicas: int, version: str) -> Scale:
        """Request this number of pods, unless the Deployment is newer than `version`."""
        try:
            body = self._client.call(
                "PATCH",
                f"{self._apps}/{name}/scale",
                query={"fieldManager": FIELD_OWNER, "force": "true"},
                body={
                    "apiVersion": "autoscaling/v1",
                    "kind": "Scale",
                    "metadata": {"name": name, "resourceVersion": version},
                    "spec": {"replicas": replicas},
                },
                content_type=APPLY,
                seconds=WRITE_SECONDS,
            )
        except ConflictError:
            # The watch may lag by more than a moment: then the next write would fail too.
            self._refresh(name)
            raise
        return convert.scale(models.read(models.SCALE, body))

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
        """Request the HorizontalPodAutoscalers, by the Deployment that they target."""
        body = self._client.call("GET", self._hpas, query=_LIST)
        found: dict[str, tuple[str, ...]] = {}
        for each in models.read(models.AUTOSCALERS, body).items:
            target = each.spec.scale_target_ref
            if target.kind == "Deployment":
                found[target.name] = (*found.get(target.name, ()), each.metadata.name)
        return found

    def quotas(self) -> tuple[QuotaLimit, ...]:
        """Request the limits of the namespace's quotas."""
        body = self._client.call("GET", f"{self._core}/resourcequotas", query=_LIST)
        return convert.quota_limits(models.read(models.QUOTAS, body).items)

    def container_defaults(self) -> ContainerDefaults:
        """Request what LimitRanges fill in."""
        body = self._client.call("GET", f"{self._core}/limitranges", query=_LIST)
        return convert.container_defaults(models.read(models.LIMIT_RANGES, body).items)

    def _watch(self, source: Source[W], mirror: Mirror[W, V]) -> Watch[W, V]:
        return Watch(
            self._client,
            source,
            mirror,
            clock=self._clock,
            stop=self._stop,
            on_error=self._on_error,
        )

    def _named(
        self,
        path: str,
        name: str,
        *,
        page: TypeAdapter[models.ObjectList[W]],
        line: TypeAdapter[models.WatchEvent[W]],
        uid: Callable[[W], str],
    ) -> Source[W]:
        """Return the source that watches one object by name."""
        return Source(
            path=path,
            selector=("fieldSelector", f"metadata.name={name}"),
            page=page,
            line=line,
            uid=uid,
            window_seconds=_WINDOW_SECONDS,
            silence_seconds=_SILENCE_SECONDS,
        )

    def _watch_deployment(self, name: str) -> Watch[models.DeploymentObject, Deployment]:
        source = self._named(
            self._apps,
            name,
            page=models.DEPLOYMENTS,
            line=models.DEPLOYMENT,
            uid=lambda each: each.metadata.uid,
        )
        return self._watch(
            source, Mirror[models.DeploymentObject, Deployment](convert.deployment)
        )

    def _watch_map(
        self, name: str, changed: Callable[[], None]
    ) -> Watch[models.ConfigMap, Document]:
        source = self._named(
            self._maps,
            name,
            page=models.CONFIG_MAPS,
            line=models.CONFIG_MAP,
            uid=lambda each: each.metadata.uid,
        )
        return self._watch(
            source, Mirror[models.ConfigMap, Document](convert.document, changed)
        )

    def _watches(self) -> tuple[AnyWatch, ...]:
        return (self._pods, *self._deployments.values(), *self._maps_of_policy.values())

    def _refresh(self, name: str) -> None:
        """Request a Deployment that is newer than its watch has shown."""
        try:
            read = self._read(self._apps, name, models.ONE_DEPLOYMENT)
        except KubeError as error:
            self._on_error(self._apps, error)
            return
        for pool, each in self._names.deployments.items():
            if each == name:
                mirror = self._deployments[pool].mirror
                mirror.put(read.metadata.uid, read, as_of=self._clock())

    def _read(self, path: str, name: str, adapter: TypeAdapter[W]) -> W:
        return models.read(adapter, self._client.call("GET", f"{path}/{name}"))
