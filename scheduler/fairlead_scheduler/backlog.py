"""How full the lanes are that have a backlog limit, and which of them accept no more jobs.

Nothing counts a whole backlog: a lane is counted up to its limit, and one that accepts no jobs
up to where it will again. Lanes that are half full are counted often, the others less so. What
a count costs are the index entries that it reads.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from fairlead_scheduler.caps import NO_LIMIT, Caps

Key = tuple[str, str | None]
"""A queue and a tenant; a tenant of None is the queue itself."""

OFTEN_SECONDS = 1.0
SELDOM_SECONDS = 3.0
_FEW = 100
_NEAR = 2
"""A lane that has reached its limit's half is near it."""


class Shut(NamedTuple):
    """A row of `over_backlog`: a lane that accepts no jobs."""

    id: int
    queue: str
    tenant: str | None
    backlog_limit: int


class Want(NamedTuple):
    """A lane to be counted, up to `most`."""

    key: Key
    most: int
    expected: int
    """How many there may be, by the count before."""


class Changes(NamedTuple):
    """What `over_backlog` is to say otherwise."""

    shut: Sequence[tuple[Key, int]]
    """Lanes that accept no more, with their limits; some may be there under another limit."""
    opened: Sequence[tuple[Key, int]]
    """Lanes that accept jobs again, with their rows."""


class _Lane:
    """What is known of one lane."""

    __slots__ = ("counted_at", "due_at", "full", "jobs", "limit", "published", "row")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.full = False
        self.jobs = 0
        self.counted_at = -inf
        """When it was counted under this limit."""
        self.due_at = -inf
        self.row: int | None = None
        """Its row of `over_backlog`."""
        self.published = NO_LIMIT
        """The limit that the row names; `NO_LIMIT` without one."""


def reopens_at(limit: int) -> int:
    """Return with how many jobs a full lane accepts more: nine tenths, rounded down."""
    return limit * 9 // 10


class Backlogs:
    """The lanes that have a limit, as far as they are known. Instants are in seconds.

    Args:
        shut: The lanes that the leader before has left shut, until they are counted.
    """

    def __init__(self, caps: Caps, shut: Iterable[Shut] = ()) -> None:
        self.caps = caps
        self.shut = 0
        """How many lanes accept no jobs, as `over_backlog` says."""
        self._lanes: dict[Key, _Lane] = {}
        self._differ: dict[Key, None] = {}
        """Lanes of which `over_backlog` is to say otherwise."""
        for row in shut:
            key = row.queue, row.tenant
            lane = self._lanes[key] = _Lane(caps.limit(*key))
            lane.row, lane.published = row.id, row.backlog_limit
            lane.full = lane.published == lane.limit
            self.shut += 1
            if not lane.limit:
                self._differ[key] = None

    def rule(self, caps: Caps) -> None:
        """Go by other limits: a lane whose limit is another is counted anew, at once."""
        self.caps = caps
        for key, lane in self._lanes.items():
            limit = caps.limit(*key)
            if limit != lane.limit:
                lane.limit, lane.full = limit, False
                lane.counted_at = lane.due_at = -inf
                self._differ.pop(key, None)
                if not limit and lane.row is not None:
                    self._differ[key] = None

    def found(self, keys: Iterable[Key]) -> None:
        """Take over which lanes have unfinished jobs; new ones are to be counted at once."""
        known = self._lanes
        lanes: dict[Key, _Lane] = {}
        for key in keys:
            lane = known.get(key)
            limit = self.caps.limit(*key) if lane is None else lane.limit
            if limit:
                lanes[key] = lane or _Lane(limit)
        self._lanes = lanes | {
            key: lane
            for key, lane in known.items()
            if lane.row is not None and key not in lanes
        }

    def due(self, now: float) -> list[Want]:
        """Return what is to be counted now."""
        return [
            _want(key, lane)
            for key, lane in self._lanes.items()
            if lane.limit and lane.due_at <= now
        ]

    def counted(self, key: Key, jobs: int, now: float) -> float:
        """Take in how many unfinished jobs there are; returns how old the count before is.

        It is 0 for the first count under a limit.
        """
        lane = self._lanes[key]
        lane.full = jobs > reopens_at(lane.limit) if lane.full else jobs >= lane.limit
        if lane.published == (lane.limit if lane.full else NO_LIMIT):
            self._differ.pop(key, None)
        else:
            self._differ[key] = None
        lane.jobs = jobs
        near = lane.full or jobs * _NEAR >= lane.limit
        age = 0.0 if lane.counted_at == -inf else now - lane.counted_at
        lane.counted_at = now
        lane.due_at = now + (OFTEN_SECONDS if near else SELDOM_SECONDS)
        return age

    def changes(self) -> Changes:
        """Return what `over_backlog` is to say otherwise, by what has been counted."""
        shut: list[tuple[Key, int]] = []
        opened: list[tuple[Key, int]] = []
        for key in self._differ:
            lane = self._lanes[key]
            if lane.full:
                shut.append((key, lane.limit))
            elif lane.row is not None:
                opened.append((key, lane.row))
        return Changes(shut, opened)

    def published(self, key: Key, row: int | None) -> None:
        """Note what everybody sees of a lane: its row, or None when it accepts jobs."""
        lane = self._lanes[key]
        self.shut += (row is not None) - (lane.row is not None)
        lane.row, lane.published = row, NO_LIMIT if row is None else lane.limit
        self._differ.pop(key, None)
        if not lane.limit:
            del self._lanes[key]


def _want(key: Key, lane: _Lane) -> Want:
    most = reopens_at(lane.limit) + 1 if lane.full else lane.limit
    return Want(key, most, min(most, 2 * lane.jobs + _FEW))
