"""What is in flight in any band of a pool."""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol


class Books(Protocol):
    """The books of one band."""

    @property
    def in_flight(self) -> Collection[int]:
        """The ids that are in `work_queue`."""
        ...


class InFlight(Collection[int]):
    """The ids that are in `work_queue`, by the books of all bands: a live view."""

    __slots__ = ("_orders",)

    def __init__(self, orders: Sequence[Books]) -> None:
        self._orders = orders

    def __contains__(self, job_id: object) -> bool:
        """Whether a job is in flight."""
        return any(job_id in order.in_flight for order in self._orders)

    def __iter__(self) -> Iterator[int]:
        """Yield them, band by band."""
        for order in self._orders:
            yield from order.in_flight

    def __len__(self) -> int:
        """Return how many there are."""
        return sum([len(order.in_flight) for order in self._orders])
