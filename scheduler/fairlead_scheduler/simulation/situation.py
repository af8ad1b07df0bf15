"""What is known of a fleet at one moment, as values: where a simulation begins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead_scheduler.rates import Used
from fairlead_scheduler.simulation.fair import ONLY, Waiting
from fairlead_scheduler.simulation.moves import Concerned
from fairlead_scheduler.simulation.told import Read, Told
from fairlead_scheduler.simulation.trace import Lane
from fairlead_scheduler.values import Paused, QueueRow, Stream

ALONE = Concerned(pools=(ONLY,), queues=frozenset())
"""One pool, with everything that there is."""


class Ended(NamedTuple):
    """A job that has ended lately."""

    queue: str
    tenant: str
    priority: int
    runnable_us: int
    claimed_us: int
    finished_us: int
    kind: str = ""
    values: list[str | None] | None = None
    """What keys look at; None: it was not read."""

    @property
    def lane(self) -> Lane:
        """Return whom it was charged to."""
        return (self.queue, self.tenant)

    @property
    def cost_us(self) -> int:
        """Return how long it had a slot in the attempt that ended it."""
        return max(1, self.finished_us - self.claimed_us)

    @property
    def told(self) -> Told | None:
        """Return what it had; None: it was not read."""
        return None if self.values is None else Told(self.kind, tuple(self.values))


class Came(NamedTuple):
    """A job that came lately and has not ended."""

    queue: str
    tenant: str
    rank: int
    since_us: int
    kind: str | None = None
    """None: it was not read."""


class Past(NamedTuple):
    """A job that came lately, to come again."""

    at_us: int
    lane: Lane
    priority: int
    cost_us: int
    """How long it had a slot; 0: nobody knows."""
    kind: str | None
    told: Told | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One pool of workers at one moment, with those from or to which queues move."""

    now_us: int
    """The database's time; every other time is by the same clock."""
    slots: int
    """Of live workers of the first pool,"""
    beside: Mapping[str, int] = field(default_factory=dict[str, int])
    """and of those of the others."""
    concerned: Concerned = ALONE
    """Which pools these are."""
    rows: Sequence[QueueRow] = ()
    """What is in `work_queue`."""
    floors: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Those in force, by pools and then by bands."""
    used: Sequence[Used] = ()
    paused: Paused = frozenset()
    waiting: Mapping[Stream, Waiting] = field(default_factory=dict[Stream, Waiting])
    ended: Sequence[Ended] = ()
    """Every ending of the last `known_us` microseconds."""
    came: Sequence[Came] = ()
    """Every job that came in that time and has not ended."""
    known_us: int = 1
    read: Read | None = None
    """What was read of single jobs; None: neither policy asks anything of them, and each
    queue has jobs of one kind."""

    @property
    def all_slots(self) -> int:
        """The slots of all pools."""
        return self.slots + sum(self.beside.values())

    @property
    def notes(self) -> list[str]:
        """What is to be said of the pools, in sentences."""
        return self.concerned.notes({self.concerned.pools[0]: self.slots, **self.beside})

    @property
    def backlog(self) -> int:
        """How many jobs wait, as far as they were counted."""
        return sum(each.jobs for each in self.waiting.values())

    @property
    def backlog_is_more(self) -> bool:
        """Whether counting stopped somewhere."""
        return any(each.more for each in self.waiting.values())

    def arrivals(self, last_us: int) -> Iterator[Past]:
        """Yield what came in the last so many microseconds, in no order, by the time since."""
        begun_us = self.now_us - last_us
        for each in self.ended:
            if each.runnable_us >= begun_us:
                at_us = each.runnable_us - begun_us
                cost_us, told = each.cost_us, each.told
                yield Past(at_us, each.lane, each.priority, cost_us, each.kind, told)
        for queue, tenant, rank, since_us, kind in self.came:
            if since_us >= begun_us:
                yield Past(since_us - begun_us, (queue, tenant), -rank, 0, kind, None)
