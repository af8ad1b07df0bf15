"""Events of `events.k8s.io`: first a new one, soon after a count on the same."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fairlead_autoscaler.kube import models
from fairlead_autoscaler.kube.client import MERGE, WRITE_SECONDS, Client
from fairlead_autoscaler.kube.port import FIELD_OWNER, Event, NotFoundError

if TYPE_CHECKING:
    from fairlead.jsontext import Json

_SAME_WITHIN_SECONDS = 360.0
"""How long a repeat counts as the same event; client-go's value."""
_KEPT_MAX = 100
_NOTE_BYTES_MAX = 1024


@dataclass(frozen=True, slots=True)
class _Recorded:
    name: str
    """The name the server gave it."""
    count: int
    at: float


class Events:
    """One controller's recent events."""

    def __init__(self, client: Client, *, namespace: str, identity: str) -> None:
        self._client = client
        self._namespace = namespace
        self._path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self._identity = identity
        self._recorded: dict[Event, _Recorded] = {}

    def record(self, event: Event, *, now: float) -> None:
        """Record an event.

        Args:
            event: What to record; the same within six minutes of the last time is counted up.
            now: Seconds of any monotonic clock.

        Raises:
            KubeError: As `port` says. Earlier events are still known.
        """
        known = self._recorded.get(event)
        if (
            known is None
            or now - known.at > _SAME_WITHIN_SECONDS
            or not self._count_up(event, known)
        ):
            body = self._client.call(
                "POST", self._path, body=self._new(event), seconds=WRITE_SECONDS
            )
            name = models.read(models.EVENT, body).metadata.name
            known = _Recorded(name, 0, now)
        self._recorded.pop(event, None)
        self._recorded[event] = _Recorded(known.name, known.count + 1, now)
        while len(self._recorded) > _KEPT_MAX:
            del self._recorded[next(iter(self._recorded))]

    def _count_up(self, event: Event, known: _Recorded) -> bool:
        """Count up an event; False: it no longer exists."""
        assert known.count > 0
        series: Json = {"count": known.count + 1, "lastObservedTime": micro_time()}
        try:
            self._client.call(
                "PATCH",
                f"{self._path}/{known.name}",
                body={"series": series},
                content_type=MERGE,
                seconds=WRITE_SECONDS,
            )
        except NotFoundError:
            del self._recorded[event]
            return False
        return True

    def _new(self, event: Event) -> "Json":
        regarding: Json = {
            "apiVersion": event.api_version,
            "kind": event.kind,
            "namespace": self._namespace,
            "name": event.name,
            "uid": event.uid,
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{event.name}-", "namespace": self._namespace},
            "eventTime": micro_time(),
            "reportingController": FIELD_OWNER,
            "reportingInstance": self._identity,
            "action": event.action,
            "reason": event.reason,
            "type": event.type,
            "note": truncate(event.note),
            "regarding": regarding,
        }


def micro_time(at: datetime | None = None) -> str:
    """Return a time in the format of the API, with microseconds; None: now."""
    at = at or datetime.now(UTC)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def truncate(note: str) -> str:
    """Return as many whole characters of a note as an event may hold."""
    raw = note.encode()
    if len(raw) <= _NOTE_BYTES_MAX:
        return note
    return raw[: _NOTE_BYTES_MAX - 3].decode(errors="ignore") + "…"
