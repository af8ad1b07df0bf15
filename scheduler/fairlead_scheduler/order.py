"""One level of the fair order: members in the order of their start tags, and its virtual time.

A level is used twice: for the queues of a pool, and for the tenants of each queue. Both heaps
hold plain integers, which compare four times as fast as tuples: start tag, then whether the
member has something in flight (who has nothing goes first), then its place among the members.
An entry that is no longer its member's is dropped when it surfaces, so an event that moves a
tag costs no search.

Virtual time V is the smallest tag that still waits: of the unclaimed rows and of the members
with work. It goes back only when a member is refunded. While nothing waits it stands, at the
largest tag that anybody has reached: capacity that nobody else wanted is held against nobody.
"""

from heapq import heapify, heappop, heappush
from math import ceil
from typing import Generic, Protocol, TypeVar

NEVER = 1 << 62
"""A tag that no member reaches: two thousand slots for seventy years."""
INDEX_BITS = 24
INDEX_MASK = (1 << INDEX_BITS) - 1
TAG_SHIFT = INDEX_BITS + 1
NEVER_KEY = NEVER << TAG_SHIFT
OUT = -1
"""The key of a member that is in no heap."""


class Member(Protocol):
    """What a level orders: a lane or a queue."""

    start: int
    """The start tag S: slot-microseconds charged so far, over the weight."""
    weight: float
    in_flight: int
    """Jobs in `work_queue`, unclaimed or running."""
    index: int
    """Its place among the members of its level."""
    key: int
    """Its entry in a heap of its level, or `OUT`."""


M = TypeVar("M", bound=Member)


class Level(Generic[M]):
    """Members with something to offer, by start tag; those at the in-flight cap come last."""

    __slots__ = (
        "_free",
        "_scanned_cap",
        "active",
        "cap",
        "capped",
        "members",
        "ready",
        "refunded",
        "top",
        "virtual",
        "weight",
    )

    def __init__(self) -> None:
        self.members: list[M] = []
        self._free: list[int] = []
        self.ready: list[int] = []
        self.capped: list[int] = []
        self.cap = 1.0
        """In-flight jobs per weight that a member may have while others have less."""
        self._scanned_cap = 1.0
        self.active = 0
        """Members that wait for service, also those whose heads have to be read first."""
        self.weight = 0.0
        """The weight of the active members."""
        self.virtual = 0
        self.top = 0
        """The largest start tag that a member has reached."""
        self.refunded = NEVER
        """The smallest start tag that a refund has led to since V was last asked for."""

    def add(self, member: M) -> None:
        """Give a member its place."""
        if self._free:
            member.index = self._free.pop()
            self.members[member.index] = member
        else:
            member.index = len(self.members)
            self.members.append(member)

    def remove(self, member: M) -> None:
        """Free the place of a member that does not wait."""
        self._free.append(member.index)

    def join(self, member: M) -> None:
        """Count a member among those that wait."""
        self.active += 1
        self.weight += member.weight

    def leave(self, member: M) -> None:
        """Count a member no longer among those that wait."""
        member.key = OUT
        self.active -= 1
        self.weight = self.weight - member.weight if self.active else 0.0

    def charge(self, member: M, cost: int) -> None:
        """Move a member's start tag by a cost, or back by a negative one: a refund."""
        start = member.start + (cost if member.weight == 1.0 else round(cost / member.weight))
        member.start = start
        if start > self.top:
            self.top = start
        elif cost < 0 and start < self.refunded and member.key != OUT:
            self.refunded = start

    def put(self, member: M) -> None:
        """Enter a member by its start tag, in place of its former entry."""
        in_flight = member.in_flight
        key = (member.start << 1 | (in_flight > 0)) << INDEX_BITS | member.index
        member.key = key
        heappush(self.ready if in_flight < self.cap * member.weight else self.capped, key)

    def next(self) -> M | None:
        """Return the member whose turn it is; None when no member has anything to offer."""
        heap = self.next_heap()
        return self.members[heap[0] & INDEX_MASK] if heap else None

    def next_heap(self) -> list[int]:
        """Return the heap with the next member on top; an empty one when there is none."""
        ready, members, cap = self.ready, self.members, self.cap
        while ready:
            key = ready[0]
            member = members[key & INDEX_MASK]
            if member.key != key:
                heappop(ready)
            elif member.in_flight < cap * member.weight:
                return ready
            else:
                heappush(self.capped, heappop(ready))
        return self._clean(self.capped)

    def set_cap(self, cap: float) -> None:
        """Change the in-flight cap; when it grows, members below it have their turn again."""
        self.cap = cap
        scanned = self._scanned_cap
        if not self.capped or cap < scanned:
            self._scanned_cap = cap
        elif ceil(cap) > ceil(scanned) or cap > 1.25 * scanned:
            self._scanned_cap = cap
            keys, self.capped = self.capped, []
            for key in keys:
                member = self.members[key & INDEX_MASK]
                if member.key == key:
                    self.put(member)

    def advance(self, oldest: int) -> int:
        """Return V as it is now; `oldest` is the smallest unclaimed tag, or `NEVER`."""
        self._compact()
        ready, capped = self._clean(self.ready), self._clean(self.capped)
        key = min(ready[0] if ready else NEVER_KEY, capped[0] if capped else NEVER_KEY)
        lowest = min(oldest, key >> TAG_SHIFT)
        if lowest != NEVER:
            self.virtual = max(lowest, min(self.virtual, self.refunded))
        elif not self.active:
            self.virtual = max(self.virtual, self.top)
        self.refunded = NEVER
        return self.virtual

    def _clean(self, heap: list[int]) -> list[int]:
        members = self.members
        while heap and members[heap[0] & INDEX_MASK].key != heap[0]:
            heappop(heap)
        return heap

    def _compact(self) -> None:
        """Drop entries that are nobody's, when they are most of a heap."""
        bound = 2 * self.active + 64
        if len(self.ready) > bound:
            self.ready = [key for key in self.ready if self._holds(key)]
            heapify(self.ready)
        if len(self.capped) > bound:
            self.capped = [key for key in self.capped if self._holds(key)]
            heapify(self.capped)

    def _holds(self, key: int) -> bool:
        return self.members[key & INDEX_MASK].key == key
