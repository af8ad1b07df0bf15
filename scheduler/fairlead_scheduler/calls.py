"""What the loop asks of the threads beside it.

The loop's decisions live on one thread; whatever another one has read or changed reaches them
as a value in a queue.
"""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from fairlead_scheduler.demanded import PoolDemand, Seen
from fairlead_scheduler.report import Report
from fairlead_scheduler.views import Disabled

T = TypeVar("T")


class Requests:
    """What the loop asks of the hands beside it.

    Args:
        call: Has a chore done now, by its name.
    """

    def __init__(self, call: Callable[[str], None]) -> None:
        self.recalls: SimpleQueue[tuple[int, ...]] = SimpleQueue()
        self.reports: SimpleQueue[tuple[str, Report]] = SimpleQueue()
        self.pools: SimpleQueue[frozenset[str]] = SimpleQueue()
        self.due_us: SimpleQueue[int] = SimpleQueue()
        self.promoted_us = 0
        """Below this instant nothing is left to fall due, but for what is committed late."""
        self.disabled: SimpleQueue[Disabled] = SimpleQueue()
        self.demands: SimpleQueue[tuple[PoolDemand, ...]] = SimpleQueue()
        self.demanded: frozenset[str] = frozenset()
        """The pools of which it is published what they need."""
        self.unread: tuple[tuple[str, str, int], ...] = ()
        """Lanes to be counted for that, each up to a number of jobs."""
        self.seen: SimpleQueue[Seen] = SimpleQueue()
        """What was read for it."""
        self.idle = False
        """Whether nothing has stirred for a while."""
        self._call = call

    def recall(self, ids: tuple[int, ...]) -> None:
        """Take these unclaimed rows out of `work_queue`."""
        self.recalls.put(ids)
        self._call("recall")

    def promote_from(self, due_us: int) -> None:
        """Promote what is due from then on, from the next look on: something was seen there."""
        self.due_us.put(due_us)
        if self.idle:
            self._call("promote")

    def rest(self, *, idle: bool) -> None:
        """Sweep less often while nothing stirs, and often again at once when something does."""
        if self.idle and not idle:
            self._call("promote")
        self.idle = idle

    def steal(self) -> None:
        """Take back what dead workers hold: one has just been marked."""
        self._call("steal")

    def audit(self) -> None:
        """Read all of `work_queue`."""
        self._call("audit")

    def report(self, pool: str, report: Report) -> None:
        """Publish how the slots of a pool were shared."""
        self.reports.put((pool, report))
        self._call("report")

    def report_on(self, pools: frozenset[str]) -> None:
        """From now on publish reports on these pools only, and forget those on others."""
        self.pools.put(pools)
        self._call("report")

    def demand(self, demands: tuple[PoolDemand, ...]) -> None:
        """Publish what pools need."""
        self.demands.put(demands)
        self._call("demand")

    def demand_of(self, pools: frozenset[str]) -> None:
        """From now on publish what these pools need, forget others, and read what is needed."""
        self.demanded = pools
        self._call("demand")
        self._call("demand_look")

    def policy(self) -> None:
        """Look whether another policy is stored."""
        self._call("policy")

    def disable(self, rule: Disabled) -> None:
        """Write down that a rule of the policy was disabled."""
        self.disabled.put(rule)
        self._call("policy")

    def survey(self) -> None:
        """Scan the lanes."""
        self._call("survey")


def drain(queue: SimpleQueue[T]) -> list[T]:
    """Take all that is in the queue now."""
    taken: list[T] = []
    while True:
        try:
            taken.append(queue.get_nowait())
        except Empty:
            return taken
