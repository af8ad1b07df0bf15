"""The limit and the rates of one lane or queue, their use, and the room that they leave."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from fairlead_scheduler.limits.blocked_reasons import HOLD, LIMIT, RATE
from fairlead_scheduler.policy import gcra
from fairlead_scheduler.policy.gcra import Rate, WindowUsage


class LimitMember(Protocol):
    """A lane or queue whose jobs in flight count."""

    in_flight: int


class Limiter:
    """The limit and rates of a queue or of a tenant in a queue; at least one of them is set.

    All bands share one limiter, and so do all pools that the queue has been in.
    """

    __slots__ = ("arrivals", "limit", "members", "rates")

    def __init__(self, limit: int, rates: tuple[Rate, ...], arrivals: list[int]) -> None:
        self.limit = limit
        self.rates = rates
        self.arrivals = arrivals
        self.members: Sequence[LimitMember] = ()
        """The lanes of the tenant, or the queue, in all bands."""

    @property
    def in_flight(self) -> int:
        """How many jobs count against the limit."""
        return sum([member.in_flight for member in self.members])

    def room(self, now_us: int) -> int:
        """Return how many jobs may be dispatched now; zero or less if none may."""
        room = self.limit
        for member in self.members:  # like `in_flight`, in half the time
            room -= member.in_flight
        if self.rates:
            for rate, arrival in zip(self.rates, self.arrivals, strict=True):
                room = min(room, gcra.jobs_allowed(rate, arrival, now_us))
        return room

    def has_room_for(self, jobs: int) -> bool:
        """Whether so many more jobs leave room, and there is no rate to count them."""
        room = self.limit - jobs
        for member in self.members:
            room -= member.in_flight
        return room > 0 and not self.rates

    @property
    def reason(self) -> int:
        """Why there is no room: a limit of 0 can only come from a rule's hold."""
        if self.in_flight >= self.limit:
            return LIMIT if self.limit else HOLD
        return RATE

    def release_us(self) -> int:
        """Return the instant from which no rate blocks."""
        pairs = zip(self.rates, self.arrivals, strict=True)
        return max(gcra.release_us(rate, arrival) for rate, arrival in pairs)

    def spend(self, count: int, now_us: int) -> None:
        """Count so many jobs as dispatched now."""
        for place, rate in enumerate(self.rates):
            self.arrivals[place] = gcra.arrival_after(rate, self.arrivals[place], count, now_us)

    def refund(self) -> None:
        """Undo the count of one job, in the same plan as its `spend`."""
        for place, rate in enumerate(self.rates):
            self.arrivals[place] -= rate.per_us

    def usage(self, queue: str, tenant: str | None) -> Iterator[WindowUsage]:
        """Yield the use of each window."""
        for rate, arrival in zip(self.rates, self.arrivals, strict=True):
            empty_us = gcra.empty_us(rate, arrival)
            yield WindowUsage(queue, tenant, rate.per_us, empty_us, rate.limit)

    def is_empty(self, now_us: int) -> bool:
        """Whether every window is empty, so that nothing is lost when this is forgotten."""
        pairs = zip(self.rates, self.arrivals, strict=True)
        return all(gcra.empty_us(rate, arrival) <= now_us for rate, arrival in pairs)
