"""The blocked lanes of one account, by their turns."""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

from fairlead_scheduler.ordering.lanes import Lane

_STALE_MAX = 64


class LaneTurns:
    """Lanes of an account that wait for a place, in the order of their turn tags.

    An account may have tens of thousands of them. To take a few costs as many heap operations:
    not all are to be unblocked for one place, and blocked again when it is taken. A lane's turn
    tag does not change while it is blocked.
    """

    __slots__ = ("_added", "_heap", "_lanes")

    def __init__(self) -> None:
        self._lanes: dict[Lane, int] = {}
        """Each with the number of its entry."""
        self._heap: list[tuple[int, int, Lane]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._lanes)

    def __iter__(self) -> Iterator[Lane]:
        """Yield all of them, in no order."""
        return iter(self._lanes)

    def add(self, lane: Lane) -> None:
        """Take a lane in; one that is there already stays as it is."""
        if lane in self._lanes:
            return
        self._added += 1
        self._lanes[lane] = self._added
        heappush(self._heap, (lane.turn_tag, self._added, lane))

    def remove(self, lane: Lane) -> None:
        """Remove a lane."""
        del self._lanes[lane]
        if len(self._heap) > 2 * len(self._lanes) + _STALE_MAX:
            self._heap = [entry for entry in self._heap if self._is_valid(entry)]
            heapify(self._heap)

    def first(self, jobs: int, may_go: Callable[[Lane], bool]) -> list[Lane]:
        """Return the lanes whose turn it is, for so many jobs; they stay here.

        Args:
            jobs: How many lanes with jobs at hand to return; others are returned besides.
            may_go: Whether a lane is one of those that are asked for.
        """
        found: list[Lane] = []
        taken: list[tuple[int, int, Lane]] = []
        while self._heap and jobs > 0:
            entry = heappop(self._heap)
            if not self._is_valid(entry):
                continue
            taken.append(entry)
            lane = entry[2]
            if may_go(lane):
                found.append(lane)
                jobs -= bool(lane.heads.ready)
        for entry in taken:
            heappush(self._heap, entry)
        return found

    def _is_valid(self, entry: tuple[int, int, Lane]) -> bool:
        return self._lanes.get(entry[2]) == entry[1]
