"""One level of the fair order: members in the order of their start tags.

A level is used twice: for the branches of a pool, and for the accounts of each branch. Its heap
holds plain integers, which compare four times as fast as tuples: start tag, then whether the
member has something in flight (a member that has nothing goes first), then its place among the
members. An entry that is no longer its member's is dropped when it surfaces, so an event that
moves a tag costs no search.

A member with as much in flight as the cap allows waits in a heap of its own and stands further
back, by as much as its running jobs may have run without being charged. It is not left out: one
that is further behind than that is really behind, and no slot may stay free while work waits.

Where a member enters when it begins to wait, and how far a refund takes it back, depends on
virtual time (`virtual_time.py`).
"""

from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from fairlead_scheduler.ordering.levels import service
from fairlead_scheduler.ordering.levels.service import OUT, tag_increment
from fairlead_scheduler.ordering.levels.virtual_time import (
    INDEX_BITS,
    INDEX_MASK,
    TAG_SHIFT,
    VirtualTime,
)

NEVER = 1 << 90
"""A tag that no member reaches, whatever its weight."""
NEVER_KEY = NEVER << TAG_SHIFT


class Member(service.Member, Protocol):
    """What a level orders: an account or a branch."""

    active: bool
    """Whether it waits for service."""
    in_flight: int
    """Jobs in `work_queue`, unclaimed or running."""
    key: int
    """Its entry in a heap of its level, or `OUT`."""


M = TypeVar("M", bound=Member)


class Level(Generic[M]):
    """Members with something to offer, by start tag.

    Args:
        prior_us: The first estimate of a job, until jobs have ended.
    """

    __slots__ = (
        "_free",
        "active",
        "cap",
        "capped",
        "lowest",
        "members",
        "ready",
        "reserve_blocked",
        "setback",
        "time",
        "weight",
    )

    def __init__(self, prior_us: int = 100_000) -> None:
        self.members: list[M] = []
        self.time: VirtualTime[M] = VirtualTime(self.members, prior_us)
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
        self.lowest = NEVER
        """The smallest tag of a member in a heap or of an unclaimed row, as of the last
        `advance`."""

    @property
    def virtual(self) -> int:
        """V as of the last `advance`."""
        return self.time.now

    def add(self, member: M) -> None:
        """Give a member its place."""
        if self._free:
            member.index = self._free.pop()
            self.members[member.index] = member
        else:
            member.index = len(self.members)
            self.members.append(member)

    def remove(self, member: M) -> None:
        """Free the place of a member that neither waits nor competes."""
        self.time.forget(member)
        self._free.append(member.index)

    def join(self, member: M, *, has_several: bool = False, resumes: bool = False) -> None:
        """Let a member wait; V must be up to date.

        Args:
            member: The member.
            has_several: Whether it is known to have several jobs.
            resumes: Whether only the reserve for short jobs kept it from waiting.
        """
        self.active += 1
        self.weight += member.weight
        self.time.enter(member, self.lowest, has_several=has_several, resumes=resumes)
        self._postpone()

    def hasten(self, member: M) -> None:
        """Let a newcomer that was put off go with those that have several jobs."""
        if self.time.hasten(member, waits=member.active) and member.key != OUT:
            self.put(member)

    def leave(self, member: M) -> None:
        """Let a member wait no longer."""
        member.key = OUT
        self.active -= 1
        self.weight = self.weight - member.weight if self.active else 0.0
        self.time.leave(member)

    def hold(self, member: M) -> None:
        """Let a newcomer that the reserve for short jobs blocks wait for its first turn."""
        if not member.active:
            self.time.first_turns.hold(member.service)

    def let_go(self, member: M) -> None:
        """Note that the reserve blocks a member no longer."""
        self.time.first_turns.let_go(member.service)

    def charge(self, member: M, cost_us: int, claimed_us: int = 0) -> None:
        """Charge or refund a member, and enter it anew if it waits; V must be up to date.

        Args:
            member: The member.
            cost_us: What it is charged; below zero it is refunded.
            claimed_us: How much of a refund is of claims beyond evidence.
        """
        behind_max = self.time.behind_max(self.cap) if claimed_us else 0
        self.time.charge(member, cost_us, claimed_us=claimed_us, behind_max=behind_max)
        if member.key != OUT:
            self.put(member)

    def serve_elsewhere(self, member: M, had_us: int) -> None:
        """Count service that a member has had in another band of its pool."""
        self.time.move(member, tag_increment(had_us, member.weight))
        if member.key != OUT:
            self.put(member)

    def reweigh(self, member: M, weight: float) -> None:
        """Give a member another weight; V must be up to date.

        What it has been charged beyond V stays the same in slot-time.
        """
        if member.active:
            self.weight += weight - member.weight
        self.time.reweigh(member, weight)
        if member.key != OUT:
            self.put(member)

    def limit(self, jobs: float, lag_us: int) -> None:
        """Set the cap to a share of so many jobs in flight, charged at most `lag_us` late.

        It holds from a member's next move on.
        """
        self.cap = jobs / self.weight
        self.setback = int(self.cap * lag_us) << TAG_SHIFT

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

    def advance(self, oldest: int, now_us: int) -> int:
        """Bring V and `lowest` up to date; `oldest` is the smallest unclaimed tag, or `NEVER`.

        Returns V.
        """
        time = self.time
        time.pass_to(now_us)
        self.ready, self.capped = self._compact(self.ready), self._compact(self.capped)
        ready, capped = self._clean(self.ready), self._clean(self.capped)
        key = min(ready[0] if ready else NEVER_KEY, capped[0] if capped else NEVER_KEY)
        self.lowest = min(oldest, key >> TAG_SHIFT)
        if self.lowest == NEVER and not (self.active or self.reserve_blocked):
            time.lift()
        else:
            time.follow()
            self._postpone()
        return time.now

    def _postpone(self) -> None:
        """Enter newcomers anew whose first turns are later from now on."""
        for member in self.time.postpone():
            if member.key != OUT and member.key >> TAG_SHIFT != member.start:
                self.put(member)

    def _clean(self, heap: list[int]) -> list[int]:
        """Drop stale entries on top."""
        members = self.members
        while heap and members[heap[0] & INDEX_MASK].key != heap[0]:
            heappop(heap)
        return heap

    def _compact(self, heap: list[int]) -> list[int]:
        """Drop all stale entries and repeated ones, when they are most of the heap."""
        if len(heap) > 2 * self.active + 64:
            members = self.members
            heap = [key for key in set(heap) if members[key & INDEX_MASK].key == key]
            heapify(heap)
        return heap
