"""Take in scans of all lanes, some in each tick: they find what everything else missed."""

from collections import deque
from collections.abc import Iterator

from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.rows import LaneRows


class LaneScans:
    """Scans that have arrived and are not yet taken in, in order.

    A stream's first job shows what was missed before the cursor, its last what lies beyond.
    Both only say where to read again: a job may have been dispatched since, and have ended.

    Args:
        heads: The heads that learn from them.
    """

    def __init__(self, heads: Heads) -> None:
        self._heads = heads
        self._left: deque[Iterator[LaneRows]] = deque()

    @property
    def is_behind(self) -> bool:
        """Whether any part of a scan is left."""
        return bool(self._left)

    def add(self, lanes: LaneRows) -> None:
        """Queue a scan."""
        self._left.append(lanes.parts())

    def take(self) -> None:
        """Take in as many lanes as a tick has time for."""
        if not self._left:
            return
        lanes = next(self._left[0], None)
        if lanes is None:
            self._left.popleft()
            self._heads.record_scan()
        else:
            self._heads.scanned_first(lanes.first())
            self._heads.scanned_last(lanes.last())
