"""How objects are watched: one by its name, or many by their labels."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

from pydantic import TypeAdapter

from fairlead_autoscaler.kube import models
from fairlead_autoscaler.kube.client import Client
from fairlead_autoscaler.kube.port import KubeError
from fairlead_autoscaler.kube.watch import Mirror, Source, Watch

_WINDOW_SECONDS = 290
_SILENCE_SECONDS = 90.0
"""Beyond a server's bookmarks, which come about once a minute."""
_MANY_WINDOW_SECONDS = 12
"""Maximum age of pods when nothing happens to them; a new request each time."""
_MARGIN_SECONDS = 3.0

W = TypeVar("W", bound=models.Part)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Watching:
    """What every watch of a port has."""

    client: Client
    clock: Callable[[], float] = field(kw_only=True)
    stop: Event = field(kw_only=True)
    on_error: Callable[[str, KubeError], None] = field(kw_only=True)
    """Called from a watch's thread with its path and error."""

    def watch(self, source: Source[W], mirror: Mirror[W, V]) -> Watch[W, V]:
        """Return a watch, which has not begun."""
        return Watch(
            self.client,
            source,
            mirror,
            clock=self.clock,
            stop=self.stop,
            on_error=self.on_error,
        )


def named(
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


def labelled(
    path: str,
    selector: str,
    *,
    page: TypeAdapter[models.ObjectList[W]],
    line: TypeAdapter[models.WatchEvent[W]],
    uid: Callable[[W], str],
) -> Source[W]:
    """Return the source that watches objects by their labels, and is never old."""
    return Source(
        path=path,
        selector=("labelSelector", selector),
        page=page,
        line=line,
        uid=uid,
        window_seconds=_MANY_WINDOW_SECONDS,
        silence_seconds=_MANY_WINDOW_SECONDS + _MARGIN_SECONDS,
    )
