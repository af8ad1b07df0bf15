"""The lanes that wait until a value has room: of a concurrency key, or a limited kind."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Generic, NamedTuple, Protocol, TypeVar

from fairlead_scheduler.limits.blocked_reasons import KEY, KIND

_WOKEN_BESIDE = 16
"""Lanes woken in addition to those for which a key has room: some may not need it."""
OF_KIND = -1
"""The place of a value that is a job's kind."""


class KeyValue(NamedTuple):
    """One value of one key: jobs that share it count together."""

    place: int
    """The key's position among its queue's keys, or `OF_KIND`."""
    tenant: str | None
    """None: all tenants count together. Of a kind, the pool whose limit it is."""
    text: str


class BlockedLane(Protocol):
    """A lane that keys block."""

    blocked_by: int

    @property
    def start(self) -> int:
        """The start tag by which it is served."""
        ...

    @property
    def band(self) -> int:
        """The lane's band."""
        ...


L = TypeVar("L", bound=BlockedLane)


class _Line(Generic[L]):
    """The lanes that wait for one value, each once, by the tags they had when they joined."""

    __slots__ = ("_there", "_turn", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, L]] = []
        self._there: set[L] = set()
        self._turn = 0

    def join(self, lane: L) -> None:
        """Add a lane; a repeat changes nothing."""
        if lane not in self._there:
            self._there.add(lane)
            self._turn += 1
            heappush(self.heap, (lane.band, lane.start, self._turn, lane))

    def first(self, most: int) -> list[L]:
        """Take out up to so many lanes that are still blocked."""
        found: list[L] = []
        while self.heap and len(found) < most:
            lane = heappop(self.heap)[3]
            self._there.discard(lane)
            if lane.blocked_by in (KEY, KIND):
                found.append(lane)
        return found


class WaitingLanes(Generic[L]):
    """The lanes that wait, by what they wait for, and the values that may have room now."""

    __slots__ = ("_freed", "_lines")

    def __init__(self) -> None:
        self._lines: dict[KeyValue, _Line[L]] = {}
        self._freed: dict[KeyValue, None] = {}

    def join(self, lane: L, value: KeyValue) -> None:
        """Make a lane wait until a value has room."""
        line = self._lines.get(value)
        if line is None:
            line = self._lines[value] = _Line()
        line.join(lane)

    def free(self, value: KeyValue) -> None:
        """Note that a value may have more room."""
        self._freed[value] = None

    def free_all(self) -> None:
        """Note that every value may have more room."""
        self._freed.update(dict.fromkeys(self._lines))

    def take(self, room_of: Callable[[KeyValue], int]) -> list[L]:
        """Return lanes that may go on, by their tags; further calls wake the others."""
        woken: dict[L, None] = {}
        for value in tuple(self._freed):
            line, room = self._lines.get(value), room_of(value)
            if line is not None and room > 0:
                woken.update(dict.fromkeys(line.first(room + _WOKEN_BESIDE)))
                if not line.heap:
                    del self._lines[value]
            if room <= 0 or value not in self._lines:
                del self._freed[value]
        return list(woken)
