"""One look at the books for the report: what has to be read at one instant, and no more.

With ten thousand lanes a look costs about two milliseconds of a tick; everything else about a
lane may be read a few ticks later.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from fairlead_scheduler.books import UNCLAIMED, Lane
from fairlead_scheduler.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the books say at one instant."""

    at_us: int
    slots: int
    """All slots of live workers."""
    busy: bool
    """Whether no slot is free for another row."""
    ended_us: Sequence[tuple[Lane, int]]
    """Lanes that have anything, with what their runs took that have ended, or were broken off,
    and that no report has counted."""
    running: Counter[Lane]
    """How many jobs run."""
    running_us: Counter[Lane]
    """For how long these have run, together."""
    queued: Counter[Lane]
    """How many rows wait for a worker."""
    oldest_us: dict[Lane, int]
    """Since when the oldest of these has been known to be runnable."""


def looked(ledgers: Sequence[Ledger], now_us: int, *, slots: int, free: int) -> Look:
    """Look at the books of a pool's bands."""
    running, running_us, queued = Counter[Lane](), Counter[Lane](), Counter[Lane]()
    oldest_us: dict[Lane, int] = {}
    for flight in chain.from_iterable(ledger.flights.values() for ledger in ledgers):
        lane = flight.lane
        if flight.claimed_us != UNCLAIMED:
            running[lane] += 1
            running_us[lane] += max(0, now_us - flight.claimed_us)
            continue
        queued[lane] += 1
        seen_us = None if flight.head is None else flight.head[3]
        if seen_us is not None:
            oldest_us[lane] = min(seen_us, oldest_us.get(lane, now_us))
    return Look(
        at_us=now_us,
        slots=slots,
        busy=free <= sum(ledger.unclaimed for ledger in ledgers),
        ended_us=[
            (lane, lane.served_us)
            for ledger in ledgers
            for queue in ledger.queues.values()
            for lane in queue.every()
            if lane.served_us or lane.in_flight or lane.heads.front is not None
        ],
        running=running,
        running_us=running_us,
        queued=queued,
        oldest_us=oldest_us,
    )
