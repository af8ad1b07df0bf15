"""Picking for a plan in the bands of a pool, from the top down."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead_scheduler.aging import Aging
from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.holds import Member
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.picks import Picks
from fairlead_scheduler.policy import FairOrder
from fairlead_scheduler.streams import LaneHeads
from fairlead_scheduler.values import Paused


class Room(NamedTuple):
    """What a plan has room for."""

    now_us: int
    """The database's time."""
    slots: int
    """All slots of the pool's live workers."""
    depth: int
    """How many unclaimed rows there should be."""


def arrivals(
    orders: Sequence[FairOrder],
    aging: Aging,
    changed: Iterable[LaneHeads],
    freed: Iterable[Member],
    paused: Paused,
) -> list[list[Queue]]:
    """Let lanes wait for service in their bands; returns the queues that begin to."""
    lanes: list[list[LaneHeads]] = [[] for _ in orders]
    members: list[list[Member]] = [[] for _ in orders]
    for heads in changed:
        lanes[heads.band].append(heads)
    for member in freed:
        band = member.queue.band if isinstance(member, Lane) else member.band
        members[band].append(member)
    begun = [
        order.arrive(lanes[band], paused) + order.go_on(members[band]) + order.look_again()
        for band, order in enumerate(orders)
    ]
    for each in lanes:
        for heads in each:
            aging.note(heads)
            for order in orders[: heads.band]:
                order.see(heads)
    return begun


def pick_bands(
    orders: Sequence[FairOrder],
    aging: Aging,
    room: Room,
    heads: Heads,
    begun: Sequence[list[Queue]],
) -> tuple[list[Picks], int]:
    """Pick from the top band down; each has the depth that those above it leave.

    Also returns how many go past the depth.
    """
    now_us, slots, depth = room
    for lane, band in aging.take(now_us):
        begun[band].extend(orders[band].age((lane,)))
    found: list[Picks] = []
    overflows = above = 0
    for order, queues in zip(orders, begun, strict=True):
        # Beside rows of bands above nobody overtakes.
        past = 0 if above >= max(depth, 1) else slots
        picks, overflow = order.pick(depth - above, past, heads, queues)
        while _doubt(orders, order, picks):
            # Others have their turn at once, or a slot would stay free beside them.
            more, further = order.pick(depth - above, past, heads, queues)
            picks.jobs += more.jobs
            picks.doubtful += more.doubtful
            picks.metered |= more.metered
            overflow += further
        found.append(picks)
        overflows += overflow
        above += order.unclaimed
    return found, overflows


def _doubt(orders: Sequence[FairOrder], order: FairOrder, picks: Picks) -> bool:
    """Leave out what is in flight in another band, where it went because it had aged.

    Whether anything was: a full read may find in flight what is at hand, and a band knows its
    own.
    """
    others = [each for each in orders if each is not order]
    twice = {job[0] for job in picks.jobs if any(job[0] in x.in_flight for x in others)}
    if twice:
        order.refused(twice)
        picks.jobs = [job for job in picks.jobs if job[0] not in twice]
        picks.doubtful += twice
    return bool(twice)
