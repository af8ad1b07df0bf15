"""The cluster over its API: watches for what changes, one request for each act.

One watch of the workers' pods, one for each pool's Deployment (a right that names its objects
is a right to watch them one by one) and one for each ConfigMap of the policy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import TypeVar

from pydantic import TypeAdapter

from fairlead_autoscaler.elector import Lease
from fairlead_autoscaler.kube import values, wire
from fairlead_autoscaler.kube.client import APPLY, WRITE_SECONDS, Client
from fairlead_autoscaler.kube.events import Events
from fairlead_autoscaler.kube.leases import Leases
from fairlead_autoscaler.kube.port import (
    FIELD_OWNER,
    ConflictError,
    Deployment,
    Document,
    Documents,
    Event,
    KubeError,
    Look,
    NotFoundError,
    NotSyncedError,
    Pod,
    Scale,
)
from fairlead_autoscaler.kube.watch import Mirror, Running, Source, Watch

_PODS_WINDOW_SECONDS = 12
"""How old the pods may be when nothing happens to them; a new request each time."""
_WINDOW_SECONDS = 290
_SILENCE_SECONDS = 90.0
"""A server's bookmarks come about once a minute."""
_MARGIN_SECONDS = 3.0
_LIST = {"limit": "500"}

W = TypeVar("W", bound=wire.Part)
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the controller works with, by name: the same names that its rights say."""

    namespace: str
    pods: str
    """The label selector of all workers' pods of the release."""
    deployments: Mapping[str, str]
    """The Deployment of each pool."""
    policy: str | None = None
    """The ConfigMap that people edit; None: neither is looked at, and no right to it needed."""
    policy_values: str | None = None
    """The ConfigMap that the chart renders."""
    status: str
    """The ConfigMap that says how the pools do."""
    lease: str
    identity: str
    """This controller's: what its events come from."""


class Cluster:
    """The port over HTTP. `start` begins the watches, `close` ends them; each once."""

    def __init__(
        self,
        client: Client,
        names: Names,
        *,
        clock: Callable[[], float] = monotonic,
        changed: Callable[[], None] = lambda: None,
        troubled: Callable[[str, KubeError], None] = lambda _path, _error: None,
    ) -> None:
        """Watch nothing yet.

        Args:
            client: The way to the API server.
            names: What to work with.
            clock: Seconds; what `Look.as_of` and `Pod.seen_at` are told by.
            changed: Called from a watch's thread after a document of the policy changed.
            troubled: Called from a watch's thread with its path and what went wrong with it.
        """
        self._client = client
        self._names = names
        self._stop = Signal()
        self._clock = clock
        self._troubled = troubled
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
                page=wire.PODS,
                line=wire.POD,
                uid=lambda each: each.metadata.uid,
                window_seconds=_PODS_WINDOW_SECONDS,
                silence_seconds=_PODS_WINDOW_SECONDS + _MARGIN_SECONDS,
            ),
            Mirror[wire.Pod, Pod](values.pod),
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
        """Stop watching; what was shown stays to be looked at."""
        self._stop.set()
        for each in self._watches():
            each.close()

    def look(self) -> Look:
        """Return what the watches know; no request."""
        as_of = self._pods.mirror.as_of
        if as_of is None or any(
            each.mirror.as_of is None for each in self._deployments.values()
        ):
            raise NotSyncedError("pods and Deployments are not known yet")
        found = {pool: each.mirror.values() for pool, each in self._deployments.items()}
        pods = (each for each in self._pods.mirror.values() if each.pool in found)
        return Look(
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
        """Ask for both ConfigMaps; the watches go on from what is answered."""
        for name, each in self._maps_of_policy.items():
            try:
                read = self._read(self._maps, name, wire.ONE_CONFIG_MAP)
            except NotFoundError:
                each.mirror.replace((), as_of=self._clock())
            else:
                each.mirror.put(read.metadata.uid, read, as_of=self._clock())
        return self.documents()

    def scale(self, name: str) -> Scale:
        """Ask what a Deployment is asked for."""
        body = self._client.call("GET", f"{self._apps}/{name}/scale")
        return values.scale(wire.read(wire.SCALE, body))

    def apply_scale(self, name: str, *, replicas: int, version: str) -> Scale:
        """Ask for so many pods, unless the Deployment is newer than `version`."""
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
            # The watch may be behind by more than a moment: then the next look would fail too.
            self._refresh(name)
            raise
        return values.scale(wire.read(wire.SCALE, body))

    def say(self, event: Event) -> None:
        """Record an event; the same again within six minutes counts up the first."""
        self._events.say(event, now=self._clock())

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
        """Ask for the Lease."""
        return self._leases.read()

    def write_lease(self, lease: Lease) -> Lease:
        """Replace the Lease of that version, and return it as it then is."""
        return self._leases.write(lease)

    def autoscalers(self) -> Mapping[str, tuple[str, ...]]:
        """Ask for the HorizontalPodAutoscalers, by the Deployment that they target."""
        body = self._client.call("GET", self._hpas, query=_LIST)
        found: dict[str, tuple[str, ...]] = {}
        for each in wire.read(wire.AUTOSCALERS, body).items:
            target = each.spec.scale_target_ref
            if target.kind == "Deployment":
                found[target.name] = (*found.get(target.name, ()), each.metadata.name)
        return found

    def quota_pods(self) -> int | None:
        """Ask how many pods the namespace's quotas would let be added."""
        body = self._client.call("GET", f"{self._core}/resourcequotas", query=_LIST)
        return values.quota_pods(wire.read(wire.QUOTAS, body).items)

    def _watch(self, source: Source[W], mirror: Mirror[W, V]) -> Watch[W, V]:
        return Watch(
            self._client,
            source,
            mirror,
            clock=self._clock,
            stop=self._stop,
            troubled=self._troubled,
        )

    def _named(
        self,
        path: str,
        name: str,
        *,
        page: TypeAdapter[wire.Listed[W]],
        line: TypeAdapter[wire.Watched[W]],
        uid: Callable[[W], str],
    ) -> Source[W]:
        """Return how to watch one object by its name."""
        return Source(
            path=path,
            selector=("fieldSelector", f"metadata.name={name}"),
            page=page,
            line=line,
            uid=uid,
            window_seconds=_WINDOW_SECONDS,
            silence_seconds=_SILENCE_SECONDS,
        )

    def _watch_deployment(self, name: str) -> Watch[wire.Deployment, Deployment]:
        source = self._named(
            self._apps,
            name,
            page=wire.DEPLOYMENTS,
            line=wire.DEPLOYMENT,
            uid=lambda each: each.metadata.uid,
        )
        return self._watch(source, Mirror[wire.Deployment, Deployment](values.deployment))

    def _watch_map(
        self, name: str, changed: Callable[[], None]
    ) -> Watch[wire.ConfigMap, Document]:
        source = self._named(
            self._maps,
            name,
            page=wire.CONFIG_MAPS,
            line=wire.CONFIG_MAP,
            uid=lambda each: each.metadata.uid,
        )
        return self._watch(source, Mirror[wire.ConfigMap, Document](values.document, changed))

    def _watches(self) -> tuple[Running, ...]:
        return (self._pods, *self._deployments.values(), *self._maps_of_policy.values())

    def _refresh(self, name: str) -> None:
        """Ask for a Deployment that is newer than its watch has shown."""
        try:
            read = self._read(self._apps, name, wire.ONE_DEPLOYMENT)
        except KubeError as error:
            self._troubled(self._apps, error)
            return
        for pool, each in self._names.deployments.items():
            if each == name:
                mirror = self._deployments[pool].mirror
                mirror.put(read.metadata.uid, read, as_of=self._clock())

    def _read(self, path: str, name: str, adapter: TypeAdapter[W]) -> W:
        return wire.read(adapter, self._client.call("GET", f"{path}/{name}"))
