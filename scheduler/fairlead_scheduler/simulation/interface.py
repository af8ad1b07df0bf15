"""What the engine calls: an order of jobs for one pool, or a leader of several pools."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from fairlead_scheduler.simulation.trace import Arrival


class JobEvent(NamedTuple):
    """A claim or an ending of a job."""

    job: int
    at_us: int


class DispatchedRow(NamedTuple):
    """A dispatched job. Workers claim by the smallest tag, then by the smallest id."""

    tag: int
    job: int
    pool: int = 0
    """Index of the pool whose workers may claim it."""


class SimulatedOrder(Protocol):
    """An order of jobs for one pool. A job is identified by its index in the trace.

    Before each `plan` the engine delivers every event up to that moment.
    """

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Add new jobs, sorted by index."""
        ...

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Apply claims, sorted by time."""
        ...

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Apply endings of claimed jobs, sorted by time."""
        ...

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch `room` jobs, or more if some sort before rows already dispatched."""
        ...


class TickSize(NamedTuple):
    """A pool's slots and how much may be dispatched to it at a tick."""

    slots: int
    room: int
    """Rows to dispatch, or more if some sort before rows already dispatched."""


class TickResult(NamedTuple):
    """What one tick of the leader decides."""

    recalled: Collection[int]
    """Unclaimed jobs to recall, before anything is dispatched."""
    rows: Sequence[DispatchedRow]
    """Jobs to dispatch; a recalled one may be among them."""


class SimulatedLeader(ABC):
    """A leader that dispatches to several pools and recalls unclaimed rows."""

    @abstractmethod
    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Add new jobs, sorted by index."""

    @abstractmethod
    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Apply claims, sorted by time."""

    @abstractmethod
    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Apply endings of claimed jobs, sorted by time."""

    @property
    @abstractmethod
    def depth_ceiling(self) -> int | None:
        """The most unclaimed rows of a pool; None: the product's default."""

    @property
    def needs_another_tick(self) -> bool:
        """Whether the next tick may dispatch more even if nothing happens until then."""
        return False

    @abstractmethod
    def tick(self, now_us: int, sizes: Sequence[TickSize]) -> TickResult:
        """Recall and dispatch; `sizes` has one entry per pool, by index."""


class OnePoolLeader(SimulatedLeader):
    """A leader of one pool that dispatches in a given order and recalls nothing."""

    def __init__(self, order: SimulatedOrder) -> None:
        self._order = order

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Pass new jobs to the order."""
        self._order.arrived(jobs, now_us)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Pass claims to the order."""
        self._order.claimed(claims)

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Pass endings to the order."""
        self._order.ended(endings)

    @property
    def depth_ceiling(self) -> int | None:
        """None: the order sets no ceiling."""
        return None

    def tick(self, now_us: int, sizes: Sequence[TickSize]) -> TickResult:
        """Dispatch what the order plans."""
        ((slots, room),) = sizes
        return TickResult((), self._order.plan(now_us, room=room, slots=slots))
