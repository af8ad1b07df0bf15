"""Which schedule fires next: a heap into which only changed schedules are entered anew.

Computing a next fire costs a hundred times as much as reading the row, and most schedules fire
rarely and change more rarely still. Tenants take turns at what is due now, so that one with a
hundred thousand schedules delays its own.
"""

from collections.abc import Container, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from fairlead_scheduler.cron.missed_fires import Missed
from fairlead_scheduler.pending.tenant_turns import TenantTurns

Key = tuple[str, str]
"""A schedule's identity: its tenant and name."""


class Schedule(NamedTuple):
    """An enabled row of `schedules`."""

    tenant: str
    name: str
    cron: str
    timezone: str
    missed: Missed
    considered_us: int
    queue: str
    by_admin: bool
    """Whether an administrator made it, or the schema's owner: then its fires may be close."""
    stored_bytes: int = 0
    """How large its payload and headers are, as they are stored."""

    @property
    def key(self) -> Key:
        """The schedule's identity."""
        return self.tenant, self.name

    @property
    def lane(self) -> tuple[str, str]:
        """The tenant and the queue of its jobs."""
        return self.tenant, self.queue


class Timetable:
    """The schedules, and when each fires next.

    A known schedule is either still to be planned, entered with its next fire or as one that
    never fires again, or taken: then the caller enters or forgets it.
    """

    def __init__(self) -> None:
        self._known: dict[Key, Schedule] = {}
        self._unplanned: dict[Key, Schedule] = {}
        self._to_plan = TenantTurns[Key]()
        self._next_us: dict[Key, int] = {}
        self._taken: set[Key] = set()
        """What was taken and is neither entered nor forgotten."""
        self._due_us = 0
        self._heap: list[tuple[int, Key]] = []
        self._due = TenantTurns[tuple[int, Key]]()
        """Entries of the heap that came due; a schedule that has changed since is skipped."""

    @property
    def next_us(self) -> int | None:
        """When the next schedule needs attention: 0 for now, None for never."""
        if self._unplanned or self._due:
            return 0
        while self._heap and not self._is_current(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    @property
    def due_us(self) -> int:
        """Since when the schedule that was taken last has been due."""
        return self._due_us

    @property
    def times(self) -> set[tuple[str, str]]:
        """Every expression in use, with its zone."""
        return {(row.cron, row.timezone) for row in self._known.values()}

    def add(self, rows: Iterable[Schedule]) -> None:
        """Take rows that the table has now; those that have changed are planned anew."""
        changed = {row.key: row for row in rows if self._known.get(row.key) != row}
        for key in changed:
            self._next_us.pop(key, None)
            if key not in self._unplanned:
                self._to_plan.put(key[0], key)
        self._known |= changed
        self._unplanned |= changed
        if len(self._heap) > 2 * len(self._next_us) + len(changed):
            self._heap = [(at_us, key) for key, at_us in self._next_us.items()]
            heapify(self._heap)

    def keep(self, keys: Container[Key]) -> None:
        """Forget all schedules but these."""
        for key in [key for key in self._known if key not in keys]:
            self.forget(key)

    def take_unplanned(self, count: int) -> list[Schedule]:
        """Take up to so many schedules whose next fire has to be computed, tenants in turns."""
        taken: list[Schedule] = []
        while len(taken) < count and (key := self._to_plan.take()) is not None:
            if key in self._unplanned:
                taken.append(self._unplanned.pop(key))
                self._taken.add(key)
        return taken

    def enter(self, row: Schedule, at_us: int | None) -> None:
        """Record a schedule's row, and when it fires next; None for never."""
        self._known[row.key] = row
        self._taken.discard(row.key)
        if at_us is not None:
            self._next_us[row.key] = at_us
            heappush(self._heap, (at_us, row.key))

    def pop_due(self, now_us: int) -> Schedule | None:
        """Take a schedule that is due, if any; the caller enters or forgets it.

        Tenants take turns; of one tenant's schedules the one that was due first is taken.
        """
        while self._heap and self._heap[0][0] <= now_us:
            entry = heappop(self._heap)
            self._due.put(entry[1][0], entry)
        while (due := self._due.take()) is not None:
            if self._is_current(due):
                self._due_us = self._next_us.pop(due[1])
                self._taken.add(due[1])
                return self._known[due[1]]
        return None

    def upcoming(self, until_us: int) -> Iterator[tuple[Schedule, int]]:
        """Yield the schedules whose next fire is not after an instant, with that fire.

        Of the heap only what is that early is looked at: below a later entry none is earlier.
        """
        found, places = set[Key](), [0]
        while places:
            place = places.pop()
            if place < len(self._heap) and self._heap[place][0] <= until_us:
                places += (2 * place + 1, 2 * place + 2)
                at_us, key = self._heap[place]
                if self._is_current(self._heap[place]) and key not in found:
                    found.add(key)
                    yield self._known[key], at_us

    def forget(self, key: Key) -> None:
        """Drop a schedule; if the table still has it, the next read plans it anew."""
        self._known.pop(key, None)
        self._unplanned.pop(key, None)
        self._next_us.pop(key, None)
        self._taken.discard(key)

    def forget_taken(self) -> set[Key]:
        """Forget what was taken and not entered: an error came between. Returns what it is."""
        taken = set(self._taken)
        for key in taken:
            self.forget(key)
        return taken

    def __len__(self) -> int:
        """Return how many entries the heap has, stale ones included."""
        return len(self._heap)

    def _is_current(self, entry: tuple[int, Key]) -> bool:
        """Whether an entry is the schedule's current one."""
        return self._next_us.get(entry[1]) == entry[0]
