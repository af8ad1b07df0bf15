"""One level of the fair order: members in the order of their start tags, and its virtual time.

A level is used twice: for the queues of a pool, and for the tenants of each queue. Its heap
holds plain integers, which compare four times as fast as tuples: start tag, then whether the
member has something in flight (a member that has nothing goes first), then its place among the
members. An entry that is no longer its member's is dropped when it surfaces, so an event that
moves a tag costs no search.

A member with as much in flight as the cap allows waits in a heap of its own and stands further
back, by as much as its running jobs may have run without being charged. It is not left out: one
that is further behind than that is really behind, and no slot may stay free while work waits.

Virtual time V is the smallest tag that still waits: of the unclaimed rows and of the members
with work. It goes back only when a member is refunded. While nothing waits it stands at the
largest tag that any member has reached: capacity that no other member wanted counts against
none.
"""

from heapq import heapify, heappop, heappush
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
    active: bool
    """Whether it waits for service."""
    in_flight: int
    """Jobs in `work_queue`, unclaimed or running."""
    index: int
    """Its place among the members of its level."""
    key: int
    """Its entry in a heap of its level, or `OUT`."""


M = TypeVar("M", bound=Member)


def tag_increment(cost: int, weight: float) -> int:
    """Return by how much a cost moves the tag of a member of this weight."""
    return cost if weight == 1.0 else round(cost / weight)


class Level(Generic[M]):
    """Members with something to offer, by start tag."""

    __slots__ = (
        "_free",
        "active",
        "cap",
        "capped",
        "members",
        "ready",
        "refunded",
        "reserve_blocked",
        "setback",
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
        """In-flight jobs per weight from which on a member stands back."""
        self.setback = 0
        """How far it stands back, as a difference of keys."""
        self.active = 0
        """Members that wait for service, also those whose heads have to be read first."""
        self.weight = 0.0
        """The weight of the active members."""
        self.reserve_blocked = 0
        """Members that have work and are blocked until a long job ends. V waits for them."""
        self.virtual = 0
        self.top = 0
        """The largest start tag that a member has reached."""
        self.refunded = NEVER
        """The smallest start tag that a refund has led to since the last `advance`."""

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
        self.top = max(self.top, member.start)
        self.active -= 1
        self.weight = self.weight - member.weight if self.active else 0.0

    def move(self, member: M, cost: int) -> None:
        """Charge a member, and enter it anew if it waits."""
        start = member.start = member.start + tag_increment(cost, member.weight)
        if member.key != OUT:
            if cost < 0:
                self.refunded = min(self.refunded, start)
            self.put(member)
        elif start > self.top:
            self.top = start

    def reweigh(self, member: M, weight: float) -> None:
        """Give a member another weight; V must be up to date.

        What it has been charged beyond V stays the same in slot-time.
        """
        ahead = member.start - self.virtual
        if ahead > 0 and weight != member.weight:
            member.start = self.virtual + round(ahead * member.weight / weight)
        else:
            member.start = max(member.start, self.virtual)
        if member.active:
            self.weight += weight - member.weight
        member.weight = weight
        if member.key != OUT:
            self.put(member)

    def limit(self, jobs: float, lag_us: int) -> None:
        """Set the cap to a share of so many jobs in flight, charged at most `lag_us` late.

        It holds from a member's next move on.
        """
        self.cap = jobs / self.weight
        self.setback = int(max(self.cap, 1.0) * lag_us) << TAG_SHIFT

    def put(self, member: M) -> None:
        """Enter a member where it stands now, in place of its former entry."""
        in_flight = member.in_flight
        key = (member.start << 1 | (in_flight > 0)) << INDEX_BITS | member.index
        member.key = key
        heappush(self.ready if in_flight < self.cap * member.weight else self.capped, key)

    def heap(self) -> list[int]:
        """Return the heap with the next member on top; an empty one when there is none."""
        ready, capped = self._clean(self.ready), self._clean(self.capped)
        if ready and not (capped and capped[0] + self.setback < ready[0]):
            return ready
        return capped

    def first(self) -> M | None:
        """Return the member whose turn it is; None when there is none."""
        heap = self.heap()
        return self.members[heap[0] & INDEX_MASK] if heap else None

    def is_set_back(self, member: M) -> bool:
        """Whether the cap alone lets another member go before this one, which waits.

        Its tag is the smallest then, and it is not among those that are ready.
        """
        ready = self._clean(self.ready)
        if member.key == OUT or not ready:
            return False
        return member.key < ready[0] <= member.key + self.setback

    def rival(self) -> int:
        """Return a tag up to which the next member stays the next."""
        heap = self.heap()
        other, bias = self.capped, self.setback
        if heap is other:
            other, bias = self.ready, -bias
        rival = other[0] + bias if other else NEVER_KEY
        return min(rival, *heap[1:3]) >> TAG_SHIFT if len(heap) > 1 else rival >> TAG_SHIFT

    def advance(self, oldest: int) -> int:
        """Return V as it is now; `oldest` is the smallest unclaimed tag, or `NEVER`."""
        self.ready, self.capped = self._compact(self.ready), self._compact(self.capped)
        ready, capped = self._clean(self.ready), self._clean(self.capped)
        key = min(ready[0] if ready else NEVER_KEY, capped[0] if capped else NEVER_KEY)
        lowest = min(oldest, key >> TAG_SHIFT)
        if lowest != NEVER:
            self.virtual = max(lowest, min(self.virtual, self.refunded))
        elif not (self.active or self.reserve_blocked):
            self.virtual = max(self.virtual, self.top)
        self.refunded = NEVER
        return self.virtual

    def _clean(self, heap: list[int]) -> list[int]:
        """Drop stale entries on top."""
        members = self.members
        while heap and members[heap[0] & INDEX_MASK].key != heap[0]:
            heappop(heap)
        return heap

    def _compact(self, heap: list[int]) -> list[int]:
        """Drop all stale entries, when they are most of the heap."""
        if len(heap) > 2 * self.active + 64:
            members = self.members
            heap = [key for key in heap if members[key & INDEX_MASK].key == key]
            heapify(heap)
        return heap
