"""What the books of a pool's bands have together: who is held back, bounds, and the mean."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Protocol

from fairlead_scheduler.books import Flight, Lane, Queue
from fairlead_scheduler.estimate import Mean
from fairlead_scheduler.holds import Holds, Member
from fairlead_scheduler.judged import JobFacts
from fairlead_scheduler.keyed import Keyed
from fairlead_scheduler.rates import Used
from fairlead_scheduler.streams import LaneHeads
from fairlead_scheduler.windows import Windows


class Books(Protocol):
    """The books of one band."""

    @property
    def queues(self) -> Mapping[str, Queue]:
        """The queues by their names."""
        ...

    @property
    def keyed(self) -> Keyed:
        """What keys have to do with the next plan."""
        ...

    @property
    def flights(self) -> dict[int, Flight]:
        """What is in `work_queue`, by ids."""
        ...


class Judge(Protocol):
    """Looks at the conditions of rules for single jobs."""

    def __call__(self, lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
        """Return which of these rules hold a job now; None: there is no time for it.

        Again says that it is not the first time, so that a former answer would do.
        """
        ...


def _holds_nothing(lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
    """Judge before anybody looks at rules."""
    del lane, facts, rules, again
    return 0


class Shared:
    """What the books of a pool's bands have together."""

    __slots__ = ("holds", "judge", "ledgers", "mean", "windows")

    def __init__(self, used: Iterable[Used] = ()) -> None:
        self.holds = Holds()
        self.judge: Judge = _holds_nothing
        self.mean = Mean()
        self.ledgers: list[Books] = []
        self.windows = Windows(used)

    @property
    def flights(self) -> Mapping[int, Flight]:
        """What is in `work_queue`, in all bands."""
        every = [ledger.flights for ledger in self.ledgers]
        return every[0] if len(every) == 1 else ChainMap(*every)

    def share_keys(self, queue: Queue) -> None:
        """Let a queue count what its keys hold together with the same queue in other bands."""
        for other in self.members(queue.name, None):
            keys = other.keys if isinstance(other, Queue) else None
            if keys is not None and queue.keys is not None and other is not queue:
                same = keys.demands == queue.keys.demands and keys.ruled == queue.keys.ruled
                queue.keys = keys if same else queue.keys

    def asks_for(self, queue: Queue) -> bool:
        """Whether this band is the one that has read what is in flight of a queue."""
        return not any(queue.name in led.queues for led in self.ledgers[: queue.band])

    def mean_of(self, heads: LaneHeads) -> Mean | None:
        """Return what is known of the jobs of a lane in its own band."""
        queue = self.ledgers[heads.band].queues.get(heads.queue)
        lane = None if queue is None else queue.tenants.get(heads.tenant)
        return None if lane is None else lane.mean

    def members(self, queue: str, tenant: str | None) -> list[Member]:
        """Return a queue, or the lanes of a tenant of it, in all bands."""
        nodes = [led.queues[queue] for led in self.ledgers if queue in led.queues]
        if tenant is None:
            return [*nodes]
        bands = len(self.ledgers)
        return [lane for node in nodes for lane in node.lanes_of(tenant, bands)]
