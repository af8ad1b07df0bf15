"""How long jobs wait in a simulation that ends before all of them have started.

Of a job that has not started it is known how long it waits at least. A percentile that falls
among these is a lower bound, and says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple


class Wait(NamedTuple):
    """A wait in microseconds; `more`: it is at least that long."""

    us: int
    more: bool = False


@dataclass(slots=True)
class Waits:
    """The waits of some jobs."""

    started_us: list[int] = field(default_factory=list[int])
    unstarted_us: list[int] = field(default_factory=list[int])
    """How long these have waited until the end,"""
    untouched: int = 0
    """and how many have waited from the start to the end."""
    until_us: int = 0

    @property
    def jobs(self) -> int:
        """How many there are."""
        return len(self.started_us) + len(self.unstarted_us) + self.untouched

    def percentile(self, share: float) -> Wait | None:
        """Return the smallest wait that such a share of the jobs does not exceed."""
        if not self.jobs:
            return None
        place = max(0, ceil(share * self.jobs) - 1)
        if place < len(self.started_us):
            return Wait(sorted(self.started_us)[place])
        known = sorted([*self.started_us, *self.unstarted_us])
        return Wait(known[place] if place < len(known) else self.until_us, more=True)


def together(some: Iterable[Waits]) -> Waits:
    """Return the waits of all jobs of several."""
    whole = Waits()
    for each in some:
        whole.started_us += each.started_us
        whole.unstarted_us += each.unstarted_us
        whole.untouched += each.untouched
        whole.until_us = max(whole.until_us, each.until_us)
    return whole
