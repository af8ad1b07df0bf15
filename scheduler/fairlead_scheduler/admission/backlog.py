"""Which lanes with a backlog limit are full and accept no more jobs.

No whole backlog is counted: a lane is counted up to its limit, and a full one up to where it
reopens. Lanes that are half full are counted more often than others. A count costs the index
entries that it reads.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from fairlead_scheduler.policy.backlog_limits import NO_LIMIT, BacklogLimits

Key = tuple[str, str | None]
"""A queue and a tenant; a tenant of None is the queue itself."""

OFTEN_SECONDS = 1.0
SELDOM_SECONDS = 3.0
_FEW = 100
_NEAR = 2
"""A lane is near its limit from half of it on."""


class FullLane(NamedTuple):
    """A row of `over_backlog`: a lane that accepts no more jobs."""

    id: int
    queue: str
    tenant: str | None
    backlog_limit: int


class LaneToCount(NamedTuple):
    """A lane to be counted, up to `most`."""

    key: Key
    most: int
    expected: int
    """How many there may be, estimated from the previous count."""


class BacklogChanges(NamedTuple):
    """Changes to be made to `over_backlog`."""

    full: Sequence[tuple[Key, int]]
    """Lanes that are full, with their limits; some may be published already under another."""
    reopened: Sequence[tuple[Key, int]]
    """Lanes to reopen, with their rows."""


class _Lane:
    """The last count of one lane, and what is published of it."""

    __slots__ = ("counted_at", "due_at", "full", "jobs", "limit", "published", "row")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.full = False
        self.jobs = 0
        self.counted_at = -inf
        """When it was last counted under this limit."""
        self.due_at = -inf
        self.row: int | None = None
        """Its row in `over_backlog`, if it is published as full."""
        self.published = NO_LIMIT
        """The limit in that row; `NO_LIMIT` without one."""


def reopens_at(limit: int) -> int:
    """Return the number of jobs at which a full lane reopens: nine tenths, rounded down."""
    return limit * 9 // 10


class Backlogs:
    """The lanes that have a limit. Instants are in seconds.

    Args:
        limits: The backlog limits in force.
        full: The lanes that the former leader published as full; they stay so until counted.
    """

    def __init__(self, limits: BacklogLimits, full: Iterable[FullLane] = ()) -> None:
        self.limits = limits
        self.full_count = 0
        """How many lanes are full, as published in `over_backlog`."""
        self._lanes: dict[Key, _Lane] = {}
        self._unpublished: dict[Key, None] = {}
        """Lanes whose published state has to change."""
        for row in full:
            key = row.queue, row.tenant
            lane = self._lanes[key] = _Lane(limits.limit(*key))
            lane.row, lane.published = row.id, row.backlog_limit
            lane.full = lane.published == lane.limit
            self.full_count += 1
            if not lane.limit:
                self._unpublished[key] = None

    def set_limits(self, limits: BacklogLimits) -> None:
        """Apply other limits: a lane whose limit changes is counted anew, at once."""
        self.limits = limits
        for key, lane in self._lanes.items():
            limit = limits.limit(*key)
            if limit != lane.limit:
                lane.limit, lane.full = limit, False
                lane.counted_at = lane.due_at = -inf
                self._unpublished.pop(key, None)
                if not limit and lane.row is not None:
                    self._unpublished[key] = None

    def set_lanes(self, keys: Iterable[Key]) -> None:
        """Take the lanes that have unfinished jobs; new ones are counted at once."""
        known = self._lanes
        lanes: dict[Key, _Lane] = {}
        for key in keys:
            lane = known.get(key)
            limit = self.limits.limit(*key) if lane is None else lane.limit
            if limit:
                lanes[key] = lane or _Lane(limit)
        self._lanes = lanes | {
            key: lane
            for key, lane in known.items()
            if lane.row is not None and key not in lanes
        }

    def due(self, now: float) -> list[LaneToCount]:
        """Return the lanes to count now."""
        return [
            _want(key, lane)
            for key, lane in self._lanes.items()
            if lane.limit and lane.due_at <= now
        ]

    def record_count(self, key: Key, jobs: int, now: float) -> float:
        """Record a lane's unfinished jobs; returns the age of the previous count in seconds.

        The age is 0 for the first count under a limit.
        """
        lane = self._lanes[key]
        lane.full = jobs > reopens_at(lane.limit) if lane.full else jobs >= lane.limit
        if lane.published == (lane.limit if lane.full else NO_LIMIT):
            self._unpublished.pop(key, None)
        else:
            self._unpublished[key] = None
        lane.jobs = jobs
        near = lane.full or jobs * _NEAR >= lane.limit
        age = 0.0 if lane.counted_at == -inf else now - lane.counted_at
        lane.counted_at = now
        lane.due_at = now + (OFTEN_SECONDS if near else SELDOM_SECONDS)
        return age

    def changes(self) -> BacklogChanges:
        """Return the changes to `over_backlog` that follow from the counts."""
        full: list[tuple[Key, int]] = []
        reopened: list[tuple[Key, int]] = []
        for key in self._unpublished:
            lane = self._lanes[key]
            if lane.full:
                full.append((key, lane.limit))
            elif lane.row is not None:
                reopened.append((key, lane.row))
        return BacklogChanges(full, reopened)

    def record_published(self, key: Key, row: int | None) -> None:
        """Record what is published of a lane: its row, or None when it accepts jobs."""
        lane = self._lanes[key]
        self.full_count += (row is not None) - (lane.row is not None)
        lane.row, lane.published = row, NO_LIMIT if row is None else lane.limit
        self._unpublished.pop(key, None)
        if not lane.limit:
            del self._lanes[key]


def _want(key: Key, lane: _Lane) -> LaneToCount:
    most = reopens_at(lane.limit) + 1 if lane.full else lane.limit
    return LaneToCount(key, most, min(most, 2 * lane.jobs + _FEW))
