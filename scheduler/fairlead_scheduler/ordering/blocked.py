"""Which lanes and queues are blocked, by what, which may go on, and which are paused."""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice

from fairlead_scheduler.limits.blocked_reasons import (
    BOUNDS,
    FREE,
    KEY,
    KIND,
    LIMIT,
    RATE,
    REASONS,
    RESERVE,
)
from fairlead_scheduler.limits.blocked_time import BlockedTime
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused

Member = Lane | Queue
_RESUMED_AT_ONCE = 1000


class BlockedMembers:
    """Blocked members, counted by reason; endings and the clock make them be checked again."""

    __slots__ = ("_lanes", "_queues", "_rechecks", "_releases", "_turn")

    def __init__(self) -> None:
        self._rechecks: list[Member] = []
        self._lanes = [0] * (1 + len(REASONS))
        self._queues = [0] * (1 + len(REASONS))
        self._releases: list[tuple[int, int, Member]] = []
        self._turn = 0

    @property
    def next_us(self) -> int | None:
        """From when on a rate unblocks a member; None when no rate blocks any."""
        releases = self._releases
        while releases and not _is_current(releases[0]):
            heappop(releases)
        return releases[0][0] if releases else None

    @property
    def is_limited(self) -> bool:
        """Whether any member is blocked until a job ends."""
        return any(
            self._lanes[each] or self._queues[each] for each in (LIMIT, RESERVE, KEY, KIND)
        )

    @property
    def lanes_by_reason(self) -> dict[int, int]:
        """How many lanes are blocked for each reason of their own."""
        return {reason: self._lanes[reason] for reason in REASONS}

    def block(self, member: Member, reason: int, now_us: int) -> None:
        """Block a member, in place of any former reason."""
        self._count(member, reason, now_us)
        if reason == RATE and member.bounds is not None:
            member.until_us = member.bounds.release_us()
            self._turn += 1
            heappush(self._releases, (member.until_us, self._turn, member))

    def unblock(self, member: Member, now_us: int) -> None:
        """Block a member no longer."""
        self._count(member, FREE, now_us)

    def recheck(self, member: Member) -> None:
        """Have the next plan check whether a member is still to be blocked."""
        if member.blocked_by in BOUNDS or member.blocked_by == RESERVE:
            self._rechecks.append(member)

    def take_rechecks(self, now_us: int) -> list[Member]:
        """Return and forget the members that may not have to be blocked any longer."""
        rechecks, self._rechecks = self._rechecks, []
        while (next_us := self.next_us) is not None and next_us <= now_us:
            rechecks.append(heappop(self._releases)[2])
        return rechecks

    def _count(self, member: Member, reason: int, now_us: int) -> None:
        counts = self._lanes if isinstance(member, Lane) else self._queues
        counts[member.blocked_by] -= 1
        counts[reason] += 1
        if reason != member.blocked_by:
            member.blocked_by = reason
            # A member that did not wait for service had nothing, or was blocked until now.
            waits_since_us = member.waits_since_us if member.active else now_us
            if member.blocked_time is None:
                member.blocked_time = BlockedTime(waits_since_us)
            member.blocked_time.change(reason, now_us, waits_since_us)


class Pauses:
    """The pauses in force for the ledger of one band.

    A pause holds from the next plan on. When it ends, its lanes go on some at each plan,
    because ten thousand would hold up a dispatch for longer than a tick.
    """

    __slots__ = ("_now", "_over")

    def __init__(self) -> None:
        self._now = NOTHING_PAUSED
        self._over: dict[Lane, None] = {}

    @property
    def is_behind(self) -> bool:
        """Whether lanes are left to go on whose pause is over."""
        return bool(self._over)

    def is_paused(self, lane: Lane) -> bool:
        """Whether a lane is paused."""
        return bool(self._now) and is_paused(self._now, lane)

    def update(self, paused: Paused, queues: Mapping[str, Queue]) -> list[Lane]:
        """Return the lanes to admit: those whose pause begins, and some whose pause ends.

        Args:
            paused: What is paused from now on.
            queues: Those of the ledger.
        """
        begun: list[Lane] = []
        if paused != self._now:
            changed, self._now = paused ^ self._now, paused
            for lane in _named(changed, queues):
                if is_paused(paused, lane):
                    begun.append(lane)
                else:
                    self._over[lane] = None
        if self._over:
            over = tuple(islice(self._over, _RESUMED_AT_ONCE))
            for lane in over:
                del self._over[lane]
            begun += over
        return begun


def is_paused(paused: Paused, lane: Lane) -> bool:
    """Return whether pauses name a lane, or its queue."""
    queue = lane.queue.name
    return (queue, None) in paused or (queue, lane.tenant) in paused


def _named(paused: Paused, queues: Mapping[str, Queue]) -> Iterator[Lane]:
    """Yield the lanes that these pauses name; a lane may come twice."""
    for name, tenant in paused:
        queue = queues.get(name)
        if queue is not None:
            yield from (x for x in queue.all_lanes() if tenant is None or x.tenant == tenant)


def _is_current(release: tuple[int, int, Member]) -> bool:
    """Whether a release has not been overtaken by a change."""
    until_us, _, member = release
    return member.blocked_by == RATE and member.until_us == until_us
