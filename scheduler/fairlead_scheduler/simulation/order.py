"""What an order of jobs is to the simulation: it hears of jobs, and says which go next."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from fairlead_scheduler.simulation.trace import Arrival


class Event(NamedTuple):
    """A claim or an ending of a job."""

    job: int
    at_us: int


class Row(NamedTuple):
    """A job that is handed to the workers, who take the smallest tag, then the smallest id."""

    tag: int
    job: int
    pool: int = 0
    """For whose workers it is, by the place of their pool among those that are played."""


class Order(Protocol):
    """An order of jobs. A job is known by its place in the trace.

    What is told is complete up to the moment of the next `plan`, as a leader's look is.
    """

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Take new jobs, in the order of their places."""
        ...

    def claimed(self, claims: Sequence[Event]) -> None:
        """Take claims, in the order of their times."""
        ...

    def ended(self, endings: Sequence[Event]) -> None:
        """Take endings, in the order of their times; all of them were claimed before."""
        ...

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[Row]:
        """Hand out jobs: `room` of them, or more if some go before those handed out."""
        ...


class Size(NamedTuple):
    """What a pool has room for at a look."""

    slots: int
    room: int
    """How many rows are to be handed out, or more if some go before those handed out."""


class Look(NamedTuple):
    """What a look of the leader does."""

    recalled: Collection[int]
    """Jobs that no worker has claimed, and that are taken back from the workers first,"""
    rows: Sequence[Row]
    """and those that are handed out. One that was taken back may be among them."""


class Leader(ABC):
    """An order for the workers of several pools, which takes back what may not go any more."""

    @abstractmethod
    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Take new jobs, in the order of their places."""

    @abstractmethod
    def claimed(self, claims: Sequence[Event]) -> None:
        """Take claims, in the order of their times."""

    @abstractmethod
    def ended(self, endings: Sequence[Event]) -> None:
        """Take endings, in the order of their times; all of them were claimed before."""

    @property
    @abstractmethod
    def depth_ceiling(self) -> int | None:
        """The most rows of a pool that wait for a worker; None: as the product has it."""

    @property
    def looks_again(self) -> bool:
        """Whether the next look may hand out more, although nothing happens until then."""
        return False

    @abstractmethod
    def look(self, now_us: int, sizes: Sequence[Size]) -> Look:
        """Take jobs back and hand others out, for all pools by their places."""


class OnePool(Leader):
    """An order that knows one pool, and takes nothing back."""

    def __init__(self, order: Order) -> None:
        self._order = order

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Tell the order."""
        self._order.arrived(jobs, now_us)

    def claimed(self, claims: Sequence[Event]) -> None:
        """Tell the order."""
        self._order.claimed(claims)

    def ended(self, endings: Sequence[Event]) -> None:
        """Tell the order."""
        self._order.ended(endings)

    @property
    def depth_ceiling(self) -> int | None:
        """It has none."""
        return None

    def look(self, now_us: int, sizes: Sequence[Size]) -> Look:
        """Hand out what the order says."""
        ((slots, room),) = sizes
        return Look((), self._order.plan(now_us, room=room, slots=slots))
