"""Events of `events.k8s.io`: the first time a new one, soon again a count on the same."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fairlead_autoscaler.kube import wire
from fairlead_autoscaler.kube.client import MERGE, WRITE_SECONDS, Client
from fairlead_autoscaler.kube.port import FIELD_OWNER, Event, NotFoundError

if TYPE_CHECKING:
    from fairlead.jsontext import Json

_SAME_WITHIN_SECONDS = 360.0
"""For how long the same again is the same event; as long as client-go says."""
_KEPT_MAX = 100
_NOTE_BYTES_MAX = 1024
_API = {"Deployment": "apps/v1", "ConfigMap": "v1"}


@dataclass(frozen=True, slots=True)
class _Said:
    name: str
    """The server's, for what was created."""
    count: int
    at: float


class Events:
    """What was said of late, by one controller."""

    def __init__(self, client: Client, *, namespace: str, identity: str) -> None:
        self._client = client
        self._namespace = namespace
        self._path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self._identity = identity
        self._said: dict[Event, _Said] = {}

    def say(self, event: Event, *, now: float) -> None:
        """Record an event.

        Args:
            event: What to say; the same within six minutes of the last time counts that up.
            now: Seconds of any clock that only goes on.

        Raises:
            KubeError: As `port` says. What was said before is still known.
        """
        said = self._said.get(event)
        if said is None or now - said.at > _SAME_WITHIN_SECONDS or not self._again(event, said):
            body = self._client.call(
                "POST", self._path, body=self._new(event), seconds=WRITE_SECONDS
            )
            name = wire.read(wire.EVENT, body).metadata.name
            said = _Said(name, 0, now)
        self._said.pop(event, None)
        self._said[event] = _Said(said.name, said.count + 1, now)
        while len(self._said) > _KEPT_MAX:
            del self._said[next(iter(self._said))]

    def _again(self, event: Event, said: _Said) -> bool:
        """Count up an event; False: it is not there any more."""
        assert said.count > 0
        series: Json = {"count": said.count + 1, "lastObservedTime": moment()}
        try:
            self._client.call(
                "PATCH",
                f"{self._path}/{said.name}",
                body={"series": series},
                content_type=MERGE,
                seconds=WRITE_SECONDS,
            )
        except NotFoundError:
            del self._said[event]
            return False
        return True

    def _new(self, event: Event) -> "Json":
        regarding: Json = {
            "apiVersion": _API[event.kind],
            "kind": event.kind,
            "namespace": self._namespace,
            "name": event.name,
            "uid": event.uid,
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{event.name}-", "namespace": self._namespace},
            "eventTime": moment(),
            "reportingController": FIELD_OWNER,
            "reportingInstance": self._identity,
            "action": event.action,
            "reason": event.reason,
            "type": event.type,
            "note": cut(event.note),
            "regarding": regarding,
        }


def moment(at: datetime | None = None) -> str:
    """Return a time as the API wants it, with microseconds; None: now."""
    at = at or datetime.now(UTC)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def cut(note: str) -> str:
    """Return as much of a note as an event may hold, whole characters of it."""
    raw = note.encode()
    if len(raw) <= _NOTE_BYTES_MAX:
        return note
    return raw[: _NOTE_BYTES_MAX - 3].decode(errors="ignore") + "…"
