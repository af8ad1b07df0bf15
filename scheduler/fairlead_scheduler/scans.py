"""Scans of all lanes, which show what nothing else has found, some lanes at each look."""

from collections import deque
from collections.abc import Iterator

from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.views import Lanes


class Scans:
    """What has not been taken in of scans, the first of them first.

    A stream's first job shows what was missed before the cursor, its last what lies beyond.
    Both only say where to read again: a job may have been dispatched since, and have ended.

    Args:
        heads: What takes them in.
    """

    def __init__(self, heads: Heads) -> None:
        self._heads = heads
        self._left: deque[Iterator[Lanes]] = deque()

    @property
    def behind(self) -> bool:
        """Whether anything is left."""
        return bool(self._left)

    def add(self, lanes: Lanes) -> None:
        """Take a scan in from now on."""
        self._left.append(lanes.parts())

    def take(self) -> None:
        """Take some lanes in, as many as a look has time for."""
        if not self._left:
            return
        lanes = next(self._left[0], None)
        if lanes is None:
            self._left.popleft()
            self._heads.surveyed()
        else:
            self._heads.swept(lanes.first())
            self._heads.reached(lanes.last())
