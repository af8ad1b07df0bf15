"""One level of the fair order: members in the order of their start tags, and its virtual time.

A level is used twice: for the queues of a pool, and for the tenants of each queue. Both heaps
hold entries that are dropped when they surface and are no longer their member's, so an event
that moves a tag costs no search.

Virtual time V is the smallest tag that still waits: of the unclaimed rows and of the members
with work. It goes back only when a member is refunded. While nothing waits it stands, at the
largest tag that anybody has reached: capacity that nobody else wanted is held against nobody.
"""

from heapq import heapify, heappop, heappush
from math import ceil
from typing import Generic, Protocol, TypeVar

NEVER = 1 << 62
"""A tag that no member reaches: two thousand slots for seventy years."""


class Member(Protocol):
    """What a level orders: a lane or a queue."""

    start: int
    """The start tag S: slot-microseconds charged so far, over the weight."""
    weight: float
    in_flight: int
    """Jobs in `work_queue`, unclaimed or running."""
    entry: object
    """The member's entry in a heap of its level; None while it is in neither."""


M = TypeVar("M", bound=Member)
Entry = tuple[int, bool, int, M]
"""Start tag, whether something is in flight (who has nothing goes first), turn, member."""


class Level(Generic[M]):
    """Members with something to offer, by start tag; those at the in-flight cap come last."""

    __slots__ = (
        "active",
        "cap",
        "capped",
        "ready",
        "refunded",
        "scanned_cap",
        "top",
        "turn",
        "virtual",
        "weight",
    )

    def __init__(self) -> None:
        self.ready: list[Entry[M]] = []
        self.capped: list[Entry[M]] = []
        self.cap = 1.0
        """In-flight jobs per weight that a member may have while others have less."""
        self.scanned_cap = 1.0
        self.turn = 0
        self.active = 0
        """Members that wait for service, also those whose heads have to be read first."""
        self.weight = 0.0
        """The weight of the active members."""
        self.virtual = 0
        self.top = 0
        """The largest start tag that a member has reached."""
        self.refunded = NEVER
        """The smallest start tag that a refund has led to since V was last asked for."""

    def join(self, member: M) -> None:
        """Count a member among those that wait."""
        self.active += 1
        self.weight += member.weight

    def leave(self, member: M) -> None:
        """Count a member no longer among those that wait."""
        member.entry = None
        self.active -= 1
        self.weight = self.weight - member.weight if self.active else 0.0

    def charge(self, member: M, cost: int) -> None:
        """Move a member's start tag by a cost, or back by a negative one: a refund."""
        start = member.start + (cost if member.weight == 1.0 else round(cost / member.weight))
        member.start = start
        if start > self.top:
            self.top = start
        elif cost < 0 and start < self.refunded and member.entry is not None:
            self.refunded = start

    def put(self, member: M) -> None:
        """Enter a member by its start tag, in place of its former entry."""
        self.turn += 1
        in_flight = member.in_flight
        entry = (member.start, in_flight > 0, self.turn, member)
        member.entry = entry
        heappush(self.ready if in_flight < self.cap * member.weight else self.capped, entry)

    def take(self) -> tuple[M, int, int] | None:
        """Take the next member out of the heaps.

        Returns it with the start tag of the one after it and how many jobs it may have before
        the others have their turn; None when no member has anything to offer.
        """
        heap = self._next_heap()
        if heap is None:
            return None
        member = heappop(heap)[3]
        member.entry = None
        limit = NEVER
        if heap is self.ready:
            limit = ceil(self.cap * member.weight) - member.in_flight
        return member, heap[0][0] if heap else NEVER, limit

    def next_start(self) -> int:
        """Return the start tag of the member that `take` would return, or `NEVER`."""
        heap = self._next_heap()
        return heap[0][0] if heap is not None else NEVER

    def set_cap(self, cap: float) -> None:
        """Change the in-flight cap; when it grows, members below it have their turn again."""
        self.cap = cap
        if not self.capped:
            self.scanned_cap = cap
        elif ceil(cap) > ceil(self.scanned_cap) or cap > 1.25 * self.scanned_cap:
            self.scanned_cap = cap
            entries = [entry for entry in self.capped if entry[3].entry is entry]
            self.capped = []
            for entry in entries:
                self.put(entry[3])
        elif cap < self.scanned_cap:
            self.scanned_cap = cap

    def advance(self, oldest: int) -> int:
        """Return V as it is now; `oldest` is the smallest unclaimed tag, or `NEVER`."""
        ready, capped = _clean(self.ready), _clean(self.capped)
        lowest = min(oldest, ready[0][0] if ready else NEVER, capped[0][0] if capped else NEVER)
        if lowest != NEVER:
            self.virtual = max(lowest, min(self.virtual, self.refunded))
        elif not self.active:
            self.virtual = max(self.virtual, self.top)
        self.refunded = NEVER
        self._compact()
        return self.virtual

    def _compact(self) -> None:
        """Drop entries that are nobody's, when they are most of a heap."""
        bound = 2 * self.active + 64
        if len(self.ready) > bound:
            self.ready = [entry for entry in self.ready if entry[3].entry is entry]
            heapify(self.ready)
        if len(self.capped) > bound:
            self.capped = [entry for entry in self.capped if entry[3].entry is entry]
            heapify(self.capped)

    def _next_heap(self) -> list[Entry[M]] | None:
        """Return the heap with the next member on top; None when both are empty."""
        ready = self.ready
        cap = self.cap
        while ready:
            entry = ready[0]
            member = entry[3]
            if member.entry is not entry:
                heappop(ready)
            elif member.in_flight < cap * member.weight:
                return ready
            else:
                heappush(self.capped, heappop(ready))
        return _clean(self.capped) or None


def _clean(heap: list[Entry[M]]) -> list[Entry[M]]:
    while heap and heap[0][3].entry is not heap[0]:
        heappop(heap)
    return heap
