"""What is paused, and whose pause is over."""

from collections.abc import Iterator, Mapping
from itertools import islice

from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.holds import names
from fairlead_scheduler.values import NOBODY, Paused

_RESUMED_AT_ONCE = 1000


class Pauses:
    """The pauses that the books of one band heed.

    A pause holds from the next plan on. When it is over its lanes go on some at each plan,
    because ten thousand would hold up a dispatch for longer than a tick.
    """

    __slots__ = ("_now", "_over")

    def __init__(self) -> None:
        self._now = NOBODY
        self._over: dict[Lane, None] = {}

    @property
    def behind(self) -> bool:
        """Whether lanes are to go on whose pause is over."""
        return bool(self._over)

    def name(self, lane: Lane) -> bool:
        """Tell whether a lane is paused."""
        return bool(self._now) and names(self._now, lane)

    def heed(self, paused: Paused, queues: Mapping[str, Queue]) -> list[Lane]:
        """Return the lanes to admit: all whose pause begins, and some of those it is over for.

        Args:
            paused: What is paused from now on.
            queues: Those of the books.
        """
        begun: list[Lane] = []
        if paused != self._now:
            changed, self._now = paused ^ self._now, paused
            for lane in _named(changed, queues):
                if names(paused, lane):
                    begun.append(lane)
                else:
                    self._over[lane] = None
        if self._over:
            over = tuple(islice(self._over, _RESUMED_AT_ONCE))
            for lane in over:
                del self._over[lane]
            begun += over
        return begun


def _named(paused: Paused, queues: Mapping[str, Queue]) -> Iterator[Lane]:
    """Yield the lanes that these pauses name; one may come twice."""
    for name, tenant in paused:
        queue = queues.get(name)
        if queue is not None:
            yield from (x for x in queue.every() if tenant is None or x.tenant == tenant)
