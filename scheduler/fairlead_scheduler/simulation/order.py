"""What an order of jobs is to the simulation: it hears of jobs, and says which go next."""

from collections.abc import Sequence
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
