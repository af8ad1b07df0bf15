"""Take in scans of all lanes, some in each tick: they find what everything else missed."""

from collections import deque
from collections.abc import Iterator

from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.tail import Tail
from fairlead_scheduler.rows import LaneRows


class LaneScans:
    """Scans that have arrived and are not yet taken in, in order.

    A stream's first job shows what was missed before the cursor, its last what lies beyond.
    Both only say where to read again: a job may have been dispatched since, and have ended.
    Where the tail has dropped something, every stream is read again from its first job on.

    Args:
        heads: The heads that learn from them.
        tail: The tail that feeds these heads as well.
    """

    def __init__(self, heads: Heads, tail: Tail) -> None:
        self._heads = heads
        self._tail = tail
        self._left: deque[tuple[Iterator[LaneRows], bool]] = deque()
        """With whether what they lead to is to be read again."""

    @property
    def is_behind(self) -> bool:
        """Whether any part of a scan is left."""
        return bool(self._left)

    def add(self, lanes: LaneRows) -> None:
        """Queue a scan."""
        self._left.append((lanes.parts(), self._tail.take_unwatched(lanes.in_progress or ())))

    def take(self) -> None:
        """Take in as many lanes as a tick has time for."""
        if not self._left:
            return
        parts, again = self._left[0]
        lanes = next(parts, None)
        if lanes is None:
            self._left.popleft()
            self._heads.record_scan()
        else:
            self._heads.scanned_first(lanes.first(), again=again)
            self._heads.scanned_last(lanes.last())
