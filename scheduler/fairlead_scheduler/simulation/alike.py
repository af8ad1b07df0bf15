"""What is known of jobs that have ended or wait, for jobs that are like them.

A job is most like those of its kind of its own tenant, and then like those of its kind of other
tenants of the queue: what a kind does is the same program for all.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, TypeVar

from fairlead_scheduler.simulation.trace import Lane

Fact = TypeVar("Fact")


class Alike(Generic[Fact]):
    """Facts about jobs, by queue, tenant and kind."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None, str | None], list[Fact]] = defaultdict(list)

    def add(self, lane: Lane, kind: str, fact: Fact) -> None:
        """Take a fact about a job."""
        queue, tenant = lane
        for owner in (tenant, None):
            self._found[queue, owner, kind].append(fact)
            self._found[queue, owner, None].append(fact)

    def of(self, lane: Lane, kind: str | None = None) -> Sequence[Fact]:
        """Return the facts about a lane's jobs, else about its queue's: of a kind, or all."""
        queue, tenant = lane
        own = self._found.get((queue, tenant, kind))
        return own or self._found.get((queue, None, kind)) or ()
