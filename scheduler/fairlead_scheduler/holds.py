"""Which lanes and queues are held back, by what, and which of them may go on."""

from heapq import heappop, heappush

from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.bounds import BOUNDS, FREE, KEY, LIMIT, RATE, REASONS, RESERVE
from fairlead_scheduler.stints import Stint
from fairlead_scheduler.values import Paused

Member = Lane | Queue


class Holds:
    """Who is held back: counted by reason, and let go when an ending or the clock allows it."""

    __slots__ = ("_freed", "_lanes", "_queues", "_releases", "_turn")

    def __init__(self) -> None:
        self._freed: list[Member] = []
        self._lanes = [0] * (1 + len(REASONS))
        self._queues = [0] * (1 + len(REASONS))
        self._releases: list[tuple[int, int, Member]] = []
        self._turn = 0

    @property
    def next_us(self) -> int | None:
        """From when on a rate lets somebody go; None when none holds anybody."""
        releases = self._releases
        while releases and not _stands(releases[0]):
            heappop(releases)
        return releases[0][0] if releases else None

    @property
    def limited(self) -> bool:
        """Whether anybody is held back until something ends."""
        return any(self._lanes[each] or self._queues[each] for each in (LIMIT, RESERVE, KEY))

    @property
    def lanes(self) -> dict[int, int]:
        """How many lanes are held back for each reason of their own."""
        return {reason: self._lanes[reason] for reason in REASONS}

    def hold(self, member: Member, reason: int, now_us: int) -> None:
        """Hold a member back, in place of any former reason."""
        self._count(member, reason, now_us)
        if reason == RATE and member.bounds is not None:
            member.until_us = member.bounds.release_us()
            self._turn += 1
            heappush(self._releases, (member.until_us, self._turn, member))

    def let(self, member: Member, now_us: int) -> None:
        """Hold a member back no longer."""
        self._count(member, FREE, now_us)

    def ask_again(self, member: Member) -> None:
        """Let the next plan see whether a member is to be held back still."""
        if member.held in BOUNDS or member.held == RESERVE:
            self._freed.append(member)

    def take_freed(self, now_us: int) -> list[Member]:
        """Return who may not have to be held back any longer: ask what holds them."""
        freed, self._freed = self._freed, []
        while (next_us := self.next_us) is not None and next_us <= now_us:
            freed.append(heappop(self._releases)[2])
        return freed

    def _count(self, member: Member, reason: int, now_us: int) -> None:
        counts = self._lanes if isinstance(member, Lane) else self._queues
        counts[member.held] -= 1
        counts[reason] += 1
        if reason != member.held:
            member.held = reason
            # Who did not wait for service had nothing, or was held back until now.
            waits_since_us = member.waits_since_us if member.active else now_us
            if member.stint is None:
                member.stint = Stint(waits_since_us)
            member.stint.change(reason, now_us, waits_since_us)


def names(paused: Paused, lane: Lane) -> bool:
    """Tell whether pauses name a lane, or its queue."""
    queue = lane.queue.name
    return (queue, None) in paused or (queue, lane.tenant) in paused


def _stands(release: tuple[int, int, Member]) -> bool:
    """Tell whether a release was not overtaken by a change."""
    until_us, _, member = release
    return member.held == RATE and member.until_us == until_us
