"""When the first job of a lane has waited so long that it may go into the band above.

Bands are strict, so a band below a busy one would starve. A job that waits longer than its band
allows may be dispatched in the band above as well, and after that band's time in the one above
that. There it is in a lane of its own, next to the tenant's other jobs, so it neither waits
behind them nor goes before all of them.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import accumulate, islice

from fairlead_scheduler.pending.cursors import NEVER_AGES, LaneHeads
from fairlead_scheduler.pending.values import AnyHead

_AT_ONCE = 16
"""Aged jobs that a lane may dispatch in one turn."""


class Aging:
    """How long jobs of each band wait before they may go into the bands above.

    Args:
        waits_us: The longest wait in each band, the first band's too, which is never used.
        begun_us: Jobs whose arrival the leader did not see count as waiting since then.
    """

    def __init__(self, waits_us: Iterable[int], begun_us: int) -> None:
        self._summed_us = tuple(accumulate(waits_us))
        self._begun_us = begun_us
        self._dues: list[tuple[int, int, LaneHeads]] = []
        self._turn = 0

    def due_us(self, head: AnyHead | None, *, origin: int, band: int) -> int:
        """Return from when on a job of one band may go into another, above it."""
        seen_us = self._begun_us if head is None or head[3] is None else head[3]
        return seen_us + self._summed_us[origin] - self._summed_us[band]

    def aged(self, heads: LaneHeads, band: int, now_us: int) -> int:
        """Return how many of a lane's next jobs may go into a band above its own.

        It checks a few of them only, because each turn asks.
        """
        seen_us = now_us - self.due_us(None, origin=heads.band, band=band) + self._begun_us
        count = 0
        for _, _, _, job_us in islice(heads.ready, _AT_ONCE):
            if (self._begun_us if job_us is None else job_us) > seen_us:
                break
            count += 1
        return count

    def note(self, heads: LaneHeads) -> None:
        """Watch the first job of a lane, if it can age."""
        if heads.band and heads.ready:
            self._watch(
                heads, self.due_us(heads.ready[0], origin=heads.band, band=heads.band - 1)
            )

    def take(self, now_us: int) -> list[tuple[LaneHeads, int]]:
        """Return the lanes whose first jobs may go into a band above now, with that band."""
        aged: list[tuple[LaneHeads, int]] = []
        dues = self._dues
        while dues and dues[0][0] <= now_us:
            due_us, _, heads = heappop(dues)
            if due_us != heads.ages_us:
                continue
            heads.ages_us = NEVER_AGES
            if not heads.ready:
                continue
            for band in range(heads.band - 1, -1, -1):
                due_us = self.due_us(heads.ready[0], origin=heads.band, band=band)
                if due_us > now_us:
                    self._watch(heads, due_us)
                    break
                aged.append((heads, band))
        return aged

    def _watch(self, heads: LaneHeads, due_us: int) -> None:
        if due_us < heads.ages_us:
            heads.ages_us = due_us
            self._turn += 1
            heappush(self._dues, (due_us, self._turn, heads))
