"""The tail of new jobs: which ids have been seen, which holes may still fill, when to probe.

Ids are drawn before a transaction commits, so they become visible out of order. A hole is
probed again until every transaction that was open when it was noticed has ended; a row found
there was committed late. Duplicates and rollbacks burn ids, so the number of holes is bounded,
and those beyond it are left to the scans of all lanes, which then read every lane again.

Times are in microseconds of the database's clock.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from fairlead_scheduler.pending.values import TailSettings


class Probe(NamedTuple):
    """What to probe now: ranges of ids, both ends included, and single ids."""

    lows: tuple[int, ...]
    highs: tuple[int, ...]
    ids: tuple[int, ...]


NO_PROBE = Probe((), (), ())


class _Hole(NamedTuple):
    low: int
    high: int
    xmax: int
    """Transactions below it may have been open when the hole was noticed; no others fill it."""
    due_us: int
    interval_us: int


class _Doubt(NamedTuple):
    due_us: int
    interval_us: int
    locked: bool = False


_DOUBT_US = 100
"""How much longer it takes for each doubtful id until a locked one is asked about again, from
ten thousand of them on."""


class Tail:
    """The leader's view of the sequence of ids.

    Start it with an id read *before* the first scan of the lanes. An id somewhat below the
    largest (by a few thousand) makes it find rows that were uncommitted at the take-over; those
    below it are left to the scans, and those among them that had fallen due to the next full
    scan of what is due (`LowWatermark`).
    """

    def __init__(self, last_id: int, now_us: int, settings: TailSettings | None = None) -> None:
        self._settings = settings or TailSettings()
        self._holes: list[_Hole] = []
        """Ascending."""
        self._doubts: dict[int, _Doubt] = {}
        self._doubts_due: list[tuple[int, int]] = []
        self._released: dict[int, _Doubt] = {}
        """Single ids that were found, until when a renewed doubt backs off further."""
        self._marks = [last_id]
        self._marked_us = [now_us]
        self._dropped = 0
        self._unwatched_xmax: int | None = None
        """Transactions below it may have filled what was dropped; None: nothing was."""
        self._unwatched_open: frozenset[int] | None = None
        """Those of them that were open at the last scan that was said to be read again."""
        self._xmax = 0

    @property
    def last_id(self) -> int:
        """Read rows above this id next, ascending."""
        return self._marks[-1]

    @property
    def is_settled(self) -> bool:
        """Whether nothing is watched: only rows above `last_id` can be new."""
        return not (self._holes or self._doubts)

    @property
    def holes(self) -> int:
        """How many ranges are watched."""
        return len(self._holes)

    @property
    def dropped(self) -> int:
        """How many ranges and ids were dropped because there were too many."""
        return self._dropped

    @property
    def doubtful(self) -> Collection[int]:
        """The single ids that are watched: a live view."""
        return self._doubts.keys()

    @property
    def room(self) -> int:
        """How many more single ids can be watched."""
        return max(0, self._settings.doubtful_max - len(self._doubts))

    @property
    def has_unwatched(self) -> bool:
        """Whether jobs may be pending, or become so, that nothing watches for."""
        return self._unwatched_xmax is not None

    def take_unwatched(self, in_progress: Iterable[int]) -> bool:
        """Return whether jobs may be pending that nothing watches for.

        Call it for each scan of the lanes, with the transactions that its snapshot had in
        progress: if so, whatever has been read of the lanes is to be read again. It is so once
        after anything was left to the scans, and again whenever a transaction has ended that
        may have committed such jobs, until all have: one that stays open, for days if it was
        abandoned, costs nothing and hides no other.
        """
        xmax = self._unwatched_xmax
        if xmax is None:
            return False
        left = frozenset(each for each in in_progress if each < xmax)
        if left == self._unwatched_open:
            return False
        self._unwatched_open = left
        if not left:
            self._unwatched_xmax = self._unwatched_open = None
        return True

    def observe(self, xmax: int) -> None:
        """Record the `pg_snapshot_xmax` of the tick: what it saw was committed below it."""
        self._xmax = max(self._xmax, xmax)

    def read(self, ids: Sequence[int], xmax: int, now_us: int) -> None:
        """Record the ids of a read above `last_id`, ascending, and its `pg_snapshot_xmax`."""
        if not ids:
            return
        previous = self.last_id
        if ids[-1] - previous > len(ids):
            interval_us = self._settings.interval_first_us
            for job_id in ids:
                if job_id > previous + 1:
                    hole = _Hole(
                        previous + 1, job_id - 1, xmax, now_us + interval_us, interval_us
                    )
                    self._holes.append(hole)
                previous = job_id
            self._bound_holes()
        self._marks.append(ids[-1])
        self._marked_us.append(now_us)
        if len(self._marks) > self._settings.marks_max:
            self._thin()

    def skip(self, last_id: int, xmax: int, now_us: int) -> None:
        """Continue above this id: a scan of the lanes finds the flood before it sooner.

        Rows committed late in between are left to the scans too: by transactions below `xmax`.
        """
        if last_id > self.last_id:
            self._marks.append(last_id)
            self._marked_us.append(now_us)
            self.leave_to_scans(xmax)

    def leave_to_scans(self, xmax: int, *, dropped: int = 0) -> None:
        """Have lanes read again for what transactions below `xmax` may commit unwatched.

        Args:
            xmax: They began before a snapshot with this `pg_snapshot_xmax`.
            dropped: How many ranges or ids are watched no longer.
        """
        self._dropped += dropped
        self._unwatched_open = None
        self._unwatched_xmax = max(self._unwatched_xmax or 0, xmax)

    def doubt(self, ids: Iterable[int], now_us: int) -> None:
        """Watch single ids: dispatch refused them, or the plan left them out as in flight.

        One that is doubted again soon after it was found free waits twice as long as before.
        """
        settings = self._settings
        for job_id in ids:
            if job_id in self._doubts:
                continue
            before = self._released.pop(job_id, None)
            interval_us = settings.interval_first_us
            if before is not None and before.due_us > now_us:
                interval_us = min(2 * before.interval_us, settings.doubt_interval_max_us)
            if not self.room:
                self.leave_to_scans(self._xmax, dropped=1)
                continue
            self._watch(job_id, _Doubt(now_us + interval_us, interval_us))

    def next_probe(self, now_us: int, *, ranges_max: int = 100, ids_max: int = 1000) -> Probe:
        """Return what to probe now, longest overdue first; intervals back off exponentially."""
        if self.is_settled:
            return NO_PROBE
        due = [(hole.due_us, place) for place, hole in enumerate(self._holes)]
        due = sorted(pair for pair in due if pair[0] <= now_us)[:ranges_max]
        holes = [self._holes[place] for _, place in due]
        for (_, place), hole in zip(due, holes, strict=True):
            interval_us = min(2 * hole.interval_us, self._settings.interval_max_us)
            self._holes[place] = hole._replace(
                due_us=now_us + interval_us, interval_us=interval_us
            )
        ids = self._due_doubts(now_us, ids_max)
        return Probe(tuple(hole.low for hole in holes), tuple(hole.high for hole in holes), ids)

    def probed(
        self,
        probe: Probe,
        found: Iterable[int],
        xmin: int,
        now_us: int,
        *,
        locked: Collection[int] = (),
    ) -> list[int]:
        """Record the ids that a probe found, with its `pg_snapshot_xmin`.

        Found ids are watched no longer, nor are ranges whose transactions have all ended, nor
        single ids that were not found: other reads announce their return. Locked ones are found
        once their locks are gone. An `xmin` of 0 means that the probe of the ranges was cut
        short: none is dropped, and all are due again at once.

        Call `seen_us` for found ids first: afterwards they are in no hole any more.

        Returns the ids that are locked and were not known to be.
        """
        ids = sorted(set(found))
        begun = self._settle_doubts(probe.ids, frozenset(ids), locked, now_us)
        if probe.lows:
            self._settle_holes(probe, ids, xmin, now_us)
        return begun

    def _settle_holes(self, probe: Probe, ids: Sequence[int], xmin: int, now_us: int) -> None:
        ranges = set(zip(probe.lows, probe.highs, strict=True))
        holes: list[_Hole] = []
        for hole in self._holes:
            if (hole.low, hole.high) not in ranges:
                holes.append(hole)
            elif xmin == 0:
                holes.extend(_without(hole._replace(due_us=now_us), ids))
            elif hole.xmax > xmin:
                holes.extend(_without(hole, ids))
        self._holes = holes
        self._bound_holes()

    def seen_us(self, job_id: int, now_us: int) -> int | None:
        """Return when this id was first seen: `now_us` in a hole, None before this leader."""
        if self._holes and job_id >= self._holes[0].low:
            place = bisect_right(self._holes, job_id, key=_low_of) - 1
            if job_id <= self._holes[place].high:
                return now_us
        place = bisect_left(self._marks, job_id)
        if place == 0:
            return None
        return self._marked_us[place] if place < len(self._marks) else now_us

    def _bound_holes(self) -> None:
        excess = len(self._holes) - self._settings.ranges_max
        if excess > 0:
            xmax = max([hole.xmax for hole in self._holes[:excess]])
            self.leave_to_scans(xmax, dropped=excess)
            del self._holes[:excess]

    def _thin(self) -> None:
        """Drop every second mark of the older half; their ids then seem to be seen later."""
        half = len(self._marks) // 2
        self._marks[1:half] = self._marks[2:half:2]
        self._marked_us[1:half] = self._marked_us[2:half:2]

    def _watch(self, job_id: int, doubt: _Doubt) -> None:
        self._doubts[job_id] = doubt
        heappush(self._doubts_due, (doubt.due_us, job_id))

    def _due_doubts(self, now_us: int, ids_max: int) -> tuple[int, ...]:
        heap, ids = self._doubts_due, list[int]()
        while heap and heap[0][0] <= now_us and len(ids) < ids_max:
            due_us, job_id = heappop(heap)
            doubt = self._doubts.get(job_id)
            if doubt is not None and doubt.due_us == due_us:
                ids.append(job_id)
                # At once: what was asked about before may have two entries for this instant.
                self._watch(job_id, doubt._replace(due_us=now_us + doubt.interval_us))
        return tuple(ids)

    def _settle_doubts(
        self, ids: Iterable[int], found: Collection[int], locked: Collection[int], now_us: int
    ) -> list[int]:
        """Drop what was not found, release what was; returns what is locked by now."""
        if self._released:
            self._released = {
                job_id: doubt
                for job_id, doubt in self._released.items()
                if doubt.due_us > now_us
            }
        most_us = max(self._settings.doubt_interval_max_us, _DOUBT_US * len(self._doubts))
        begun: list[int] = []
        for job_id in ids:
            doubt = self._doubts.pop(job_id, None)
            if doubt is None:
                continue
            if job_id in locked:
                begun += () if doubt.locked else (job_id,)
                interval_us = min(2 * doubt.interval_us, most_us)
                self._watch(job_id, _Doubt(now_us + interval_us, interval_us, locked=True))
            elif job_id in found and not doubt.locked:
                until_us = now_us + 10 * doubt.interval_us
                self._released[job_id] = _Doubt(until_us, doubt.interval_us)
        return begun


def _without(hole: _Hole, ids: Sequence[int]) -> Iterable[_Hole]:
    """Return what is left of a hole once these ids, ascending, have been found."""
    low = hole.low
    for job_id in ids[bisect_left(ids, hole.low) : bisect_right(ids, hole.high)]:
        if job_id > low:
            yield hole._replace(low=low, high=job_id - 1)
        low = job_id + 1
    if low <= hole.high:
        yield hole._replace(low=low)


def _low_of(hole: _Hole) -> int:
    return hole.low
