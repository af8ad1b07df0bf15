"""What one lane or queue may still have: its limit and its rates, and how far they are used."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from fairlead_scheduler import rates
from fairlead_scheduler.rates import Rate, Used

FREE, LIMIT, RATE, PAUSED, RESERVE, KEY, HOLD, RULE, POOL = range(9)
"""Why a lane or a queue is held back; free when it is not. A reserve for short jobs holds back
lanes of long ones, a rule those whose first jobs it all holds, one by one, and no pool those of
queues that none serves."""
REASONS = {
    LIMIT: "limit",
    RATE: "rate",
    PAUSED: "paused",
    RESERVE: "reserve",
    KEY: "key",
    HOLD: "hold",
    RULE: "hold",
    POOL: "pool",
}
BOUNDS = frozenset({LIMIT, RATE, HOLD})
"""What is so for want of room in its bounds."""
PASSING = frozenset({PAUSED, KEY, RULE, POOL})
"""What is asked anew whenever a lane is admitted."""


def named(counts: Mapping[int, int]) -> dict[str, int]:
    """Return counts by reasons under their names; two reasons may have one."""
    found = dict.fromkeys(REASONS.values(), 0)
    for reason, count in counts.items():
        found[REASONS[reason]] += count
    return found


class Holder(Protocol):
    """Whose jobs in flight count."""

    in_flight: int


class Bounds:
    """The limit and the rates of a queue or of a tenant of one, at least one of which is set.

    It has them once for all its bands, and for all pools that it has been in.
    """

    __slots__ = ("arrivals", "limit", "members", "rates")

    def __init__(self, limit: int, rates: tuple[Rate, ...], arrivals: list[int]) -> None:
        self.limit = limit
        self.rates = rates
        self.arrivals = arrivals
        self.members: Sequence[Holder] = ()
        """The lanes of the tenant, or the queue, in all bands."""

    @property
    def in_flight(self) -> int:
        """How many jobs count."""
        return sum([member.in_flight for member in self.members])

    def room(self, now_us: int) -> int:
        """Return how many jobs may be dispatched now; not positive when none may."""
        room = self.limit
        for member in self.members:  # as `in_flight`, in half the time
            room -= member.in_flight
        if self.rates:
            for rate, arrival in zip(self.rates, self.arrivals, strict=True):
                room = min(room, rates.allowed(rate, arrival, now_us))
        return room

    def spares(self, jobs: int) -> bool:
        """Whether so many jobs leave room still, and there is no rate to count them."""
        room = self.limit - jobs
        for member in self.members:
            room -= member.in_flight
        return room > 0 and not self.rates

    @property
    def reason(self) -> int:
        """What holds back where there is no room: only a rule makes a limit of 0."""
        if self.in_flight >= self.limit:
            return LIMIT if self.limit else HOLD
        return RATE

    def release_us(self) -> int:
        """Return from when on no rate holds back."""
        pairs = zip(self.rates, self.arrivals, strict=True)
        return max(rates.release_us(rate, arrival) for rate, arrival in pairs)

    def spend(self, count: int, now_us: int) -> None:
        """Count so many jobs as dispatched now."""
        for place, rate in enumerate(self.rates):
            self.arrivals[place] = rates.spent(rate, self.arrivals[place], count, now_us)

    def refund(self) -> None:
        """Count a job as not dispatched, before time has gone on since."""
        for place, rate in enumerate(self.rates):
            self.arrivals[place] -= rate.per_us

    def used(self, queue: str, tenant: str | None) -> Iterator[Used]:
        """Yield what is used of each window."""
        for rate, arrival in zip(self.rates, self.arrivals, strict=True):
            empty_us = rates.empty_us(rate, arrival)
            yield Used(queue, tenant, rate.per_us, empty_us, rate.limit)

    def drained(self, now_us: int) -> bool:
        """Whether every window is empty, so that nothing is lost when this is forgotten."""
        pairs = zip(self.rates, self.arrivals, strict=True)
        return all(rates.empty_us(rate, arrival) <= now_us for rate, arrival in pairs)
