"""Which unclaimed row has the smallest root tag."""

from heapq import heappop, heappush

from fairlead_scheduler.books import UNCLAIMED, Flight
from fairlead_scheduler.order import NEVER


class Fronts:
    """Root tags of each queue's first unclaimed row, and of rows that came back."""

    __slots__ = ("_fronts", "_turn")

    def __init__(self) -> None:
        self._fronts: list[tuple[int, int, Flight]] = []
        self._turn = 0

    def lowest_tag(self) -> int:
        """Return the smallest root tag of an unclaimed row, or `NEVER`."""
        fronts = self._fronts
        while fronts:
            flight = fronts[0][2]
            if flight.claimed_us == UNCLAIMED:
                return fronts[0][0]
            heappop(fronts)
            queue = flight.lane.queue
            if queue.shown is flight:
                front = queue.front()
                queue.shown = None
                if front is not None:
                    self.show(front)
        return NEVER

    def show(self, flight: Flight) -> None:
        """Let a row stand for its queue where the floor is sought: it is the first there."""
        flight.lane.queue.shown = flight
        self.stand(flight)

    def stand(self, flight: Flight) -> None:
        """Let the floor heed a row."""
        self._turn += 1
        heappush(self._fronts, (flight.root_tag, self._turn, flight))
