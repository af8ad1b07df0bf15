"""Rounds over lanes: which lane a bounded sweep goes on behind, and how much each may have."""

from typing import NamedTuple

Lane = tuple[str, str]
_BEFORE_ALL = ("", "")
"""Sorts before every lane, since a queue's name is never empty."""


class Turns(NamedTuple):
    """What a statement asks for: turns of the lanes behind one, in their order."""

    after: Lane
    lane_jobs: int
    """The most jobs of each lane."""


class LaneRound:
    """Rounds over all lanes while one of them has more than a sweep takes at a time.

    A round gives each lane the same number of jobs: one in the first round, and then so many
    that a statement takes `jobs_max` jobs from the lanes that had any in the round before and
    one more: it would end at a lane that fills it, and leave the ones behind to the next.
    """

    def __init__(self, jobs_max: int) -> None:
        self._jobs_max = jobs_max
        self._lanes = 0
        self.turns = Turns(_BEFORE_ALL, 1)

    def record(self, lanes: int, reached: Lane | None) -> None:
        """Record that so many lanes had jobs, and how far it came; None: to the last lane."""
        self._lanes += lanes
        if reached is not None:
            self.turns = self.turns._replace(after=reached)
            return
        self.turns = Turns(_BEFORE_ALL, max(1, self._jobs_max // (self._lanes + 1)))
        self._lanes = 0
