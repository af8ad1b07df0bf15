"""A list and the changes after it, mirrored by a thread of its own.

A silent watch does not reveal that it is dead, so each has an end that the server keeps, and a
silence after which the connection is given up. A mirror is complete as of the last line,
bookmark or orderly end; a watch of pods ends every few seconds for that reason.

A version that the server no longer has (410) makes a new list. After any other error the watch
resumes where it was, after a rest that doubles.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import random
from threading import Event, Lock
from typing import Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from fairlead_autoscaler.kube import models
from fairlead_autoscaler.kube.client import Client, Stream
from fairlead_autoscaler.kube.port import BusyError, KubeError, UnreachableError

W = TypeVar("W", bound=models.Part)
V = TypeVar("V")

_PAGE = 250
_REST_SECONDS = 0.5
_REST_SECONDS_MAX = 10.0
_RETRY_AFTER_SECONDS_MAX = 30.0
"""The longest wait that a server may ask for."""
_FAILURES_UNTIL_LIST = 4
_STORM_SECONDS = 1.0
"""A watch that ends sooner than this is not reopened at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Generic[W]):
    """What to watch."""

    path: str
    selector: tuple[str, str]
    """Which objects: a query parameter and its value."""
    page: TypeAdapter[models.ObjectList[W]]
    line: TypeAdapter[models.WatchEvent[W]]
    uid: Callable[[W], str]
    window_seconds: int
    """After how long the server ends the watch, and we open the next."""
    silence_seconds: float
    """After how long without data the connection is given up."""
    completed: Callable[[W], W] | None = None
    """Requests what an object does not say itself; None: nothing is missing.

    Called for each object that a list or a watch shows, in the watch's thread.
    """

    def complete(self, each: W) -> W:
        """Return an object with all that is to be known of it.

        Raises:
            KubeError: the request failed.
        """
        return each if self.completed is None else self.completed(each)


@dataclass(slots=True)
class Mirror(Generic[W, V]):
    """What a watch has shown or a request has answered; for any thread."""

    convert: Callable[[W, V | None, float | None], V | None]
    """Makes a value of an object, its former value and the time it was first seen."""
    changed: Callable[[], None] = lambda: None
    as_of: float | None = None
    """Until when it is known to be complete; None: nothing was shown yet."""
    _items: dict[str, V] = field(default_factory=dict[str, V])
    _lock: Lock = field(default_factory=Lock)

    def values(self) -> tuple[V, ...]:
        """Return all objects."""
        with self._lock:
            return tuple(self._items.values())

    def replace(self, objects: Iterable[tuple[str, W]], *, as_of: float) -> None:
        """Adopt a new list as a whole; objects that it lacks are gone."""
        with self._lock:
            seen_at = None if self.as_of is None else as_of
            items = {
                uid: self.convert(each, self._items.get(uid), seen_at) for uid, each in objects
            }
            self._items = {uid: each for uid, each in items.items() if each is not None}
            self.as_of = as_of
        self.changed()

    def put(self, uid: str, each: W, *, as_of: float) -> None:
        """Adopt the present state of one object."""
        with self._lock:
            value = self.convert(each, self._items.get(uid), as_of)
            if value is None:
                self._items.pop(uid, None)
            else:
                self._items[uid] = value
            self.as_of = as_of
        self.changed()

    def remove(self, uid: str, *, as_of: float) -> None:
        """Note that an object is gone."""
        with self._lock:
            self._items.pop(uid, None)
            self.as_of = as_of
        self.changed()


class AnyWatch(Protocol):
    """A watch of any kind."""

    @property
    def name(self) -> str:
        """What it watches, for people."""
        ...

    @property
    def as_of(self) -> float | None:
        """Until when its mirror is known to be complete; None: nothing was shown yet."""
        ...

    def run(self) -> None:
        """Repeat its step until asked to stop."""
        ...

    def close(self) -> None:
        """Wake it, as it is to stop."""
        ...


class Watch(Generic[W, V]):
    """Maintains one mirror: `run` in a thread until `stop` is set and `close` was called."""

    def __init__(
        self,
        client: Client,
        source: Source[W],
        mirror: Mirror[W, V],
        *,
        clock: Callable[[], float],
        stop: Event,
        on_error: Callable[[str, KubeError], None],
    ) -> None:
        self.mirror = mirror
        self._client = client
        self._source = source
        self._clock = clock
        self._stop = stop
        self._on_error = on_error
        self._version: str | None = None
        self._failures = 0
        self._stream: Stream | None = None

    @property
    def name(self) -> str:
        """The resource and which of its objects."""
        return f"{self._source.path.rpartition('/')[2]} {self._source.selector[1]}"

    @property
    def as_of(self) -> float | None:
        """Until when the mirror is known to be complete; None: nothing was shown yet."""
        return self.mirror.as_of

    def run(self) -> None:
        """Repeat the step until asked to stop."""
        while not self._stop.is_set():
            self._stop.wait(self.step())

    def close(self) -> None:
        """Wake the reader; `stop` is set before."""
        if self._stream is not None:
            self._stream.interrupt()

    def step(self) -> float:
        """List, or follow one watch to its end; return how many seconds to rest."""
        begun = self._clock()
        try:
            if self._version is None:
                self._version = self._list()
                return 0.0
            self._version = self._follow(self._version)
        except KubeError as error:
            return self._failed(error)
        return 0.0 if self._clock() - begun > _STORM_SECONDS else _REST_SECONDS

    def _failed(self, error: KubeError) -> float:
        if self._stop.is_set():
            return 0.0
        self._on_error(self._source.path, error)
        passing = isinstance(error, (UnreachableError, BusyError))
        if not passing or self._failures + 1 >= _FAILURES_UNTIL_LIST:
            self._version = None
        rest = min(_REST_SECONDS * (1 << self._failures), _REST_SECONDS_MAX)
        self._failures = min(self._failures + 1, 8)
        asked = error.retry_after_seconds if isinstance(error, BusyError) else 0.0
        return max(min(asked, _RETRY_AFTER_SECONDS_MAX), rest) * (1 + 0.2 * random())

    def _list(self) -> str:
        """Read the whole list, page by page, and return its version."""
        begun = self._clock()
        source = self._source
        query = dict([source.selector], limit=str(_PAGE))
        objects: list[tuple[str, W]] = []
        while True:
            page = models.read(source.page, self._client.call("GET", source.path, query=query))
            objects += ((source.uid(each), source.complete(each)) for each in page.items)
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        self.mirror.replace(objects, as_of=begun)
        return page.metadata.resource_version

    def _follow(self, version: str) -> str | None:
        """Follow a watch to its end; return the last version, None: it has expired."""
        source = self._source
        query = dict(
            [source.selector],
            watch="1",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=str(source.window_seconds),
        )
        self._stream = self._client.stream(
            source.path, query, silence_seconds=source.silence_seconds
        )
        try:
            if self._stop.is_set():
                return version
            for line in self._stream:
                at = self._take(line)
                if at is None:
                    return None
                self._version = version = at
                self._failures = 0
        finally:
            self._stream.close()
        self.mirror.as_of = self._clock()
        self._failures = 0
        return version

    def _take(self, line: bytes) -> str | None:
        """Apply a line of the watch, and return its version; None: it has expired."""
        now = self._clock()
        kind = models.read(models.KIND, line).type
        if kind == "ERROR":
            failure = models.read(models.ERROR, line).object
            if failure.code == 410:
                return None
            raise UnreachableError(f"the watch ended: {failure.code} {failure.message}")
        version = models.read(models.BOOKMARK, line).object.metadata.resource_version
        if kind == "BOOKMARK":
            self.mirror.as_of = now
            return version
        each = models.read(self._source.line, line).object
        if kind == "DELETED":
            self.mirror.remove(self._source.uid(each), as_of=now)
        else:
            whole = self._source.complete(each)
            self.mirror.put(self._source.uid(each), whole, as_of=now)
        return version
