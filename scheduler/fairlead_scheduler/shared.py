"""What the books of a pool's bands have together: who is held back, bounds, and the mean."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from fairlead_scheduler.books import Queue
from fairlead_scheduler.estimate import Mean
from fairlead_scheduler.holds import Holds, Member
from fairlead_scheduler.keyed import Keyed
from fairlead_scheduler.rates import Used
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


class Shared:
    """What the books of a pool's bands have together."""

    __slots__ = ("holds", "ledgers", "mean", "windows")

    def __init__(self, used: Iterable[Used] = ()) -> None:
        self.holds = Holds()
        self.mean = Mean()
        self.ledgers: list[Books] = []
        self.windows = Windows(used)

    def share_keys(self, queue: Queue) -> None:
        """Let a queue count what its keys hold together with the same queue in other bands."""
        for other in self.members(queue.name, None):
            keys = other.keys if isinstance(other, Queue) else None
            if keys is not None and queue.keys is not None and other is not queue:
                queue.keys = keys if keys.demands == queue.keys.demands else queue.keys

    def asks_for(self, queue: Queue) -> bool:
        """Whether this band is the one that has read what is in flight of a queue."""
        return not any(queue.name in led.queues for led in self.ledgers[: queue.band])

    def members(self, queue: str, tenant: str | None) -> list[Member]:
        """Return a queue, or the lanes of a tenant of it, in all bands."""
        nodes = [led.queues[queue] for led in self.ledgers if queue in led.queues]
        if tenant is None:
            return [*nodes]
        return [lane for node in nodes for lane in node.every() if lane.tenant == tenant]
