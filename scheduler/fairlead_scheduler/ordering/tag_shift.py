"""By how much the tags in `work_queue` are above those of the ledger.

Where rows overtake those that wait, or have tags that are equal, claimed rows have tags at and
above the floor, and a claim walks over their index entries for as long as some snapshot keeps
these alive. Once there are many, the leader raises the tags of all rows that wait, and of all
that it will dispatch, by so much that they are behind those that were claimed. All are raised
by the same amount, so no order changes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping

from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob

CLAIMED_ABOVE_MAX = 4096
"""So many claimed rows may have tags at the floor or above it, before tags are raised."""
_ROWS_SHARE = 4
"""At least so many of them are there for each row whose tag has to be raised."""
_AHEAD_MAX = 1 << 40
"""A claimed row that was further ahead is left there: it is one of few, and tags are finite."""
_KEPT = 4
"""So many times as many claimed rows as are enough are remembered, those furthest ahead."""
_RAISED_MAX = 20_000
"""Raised in 0.6 s on a busy machine, during which no renewal of the lease gets through."""


class TagShift:
    """The shift of one (pool, band), and the rows that it has not reached."""

    __slots__ = ("_behind", "_check_at", "_low", "by", "claimed_tags")

    def __init__(self) -> None:
        self.by = 0
        """What is added to a tag of the ledger when it is written."""
        self.claimed_tags: list[int] = []
        """Tags of rows that were claimed, as the ledger has them."""
        self._check_at = CLAIMED_ABOVE_MAX
        self._behind: dict[int, int] = {}
        """By how much less the tags of rows were raised, by job: of those that were claimed."""
        self._low: dict[int, int] = {}
        """The least tag that such a row may have in `work_queue`, of those that wait again."""

    def due(self, floor: int, unclaimed: int) -> int:
        """Return by how much to raise all tags now; 0: not at all."""
        enough = max(CLAIMED_ABOVE_MAX, _ROWS_SHARE * unclaimed)
        if len(self.claimed_tags) < max(enough, self._check_at):
            return 0
        tags = self.claimed_tags
        tags.sort()
        del tags[bisect_right(tags, floor + _AHEAD_MAX) :]
        reach = tags[-1] - floor if tags else 0
        # New rows may go in front of the floor, about as far as others were above it.
        del tags[: max(bisect_left(tags, floor - reach), len(tags) - _KEPT * enough)]
        self._check_at = len(tags) + max(CLAIMED_ABOVE_MAX, len(tags) // 4)
        above = len(tags) - bisect_left(tags, floor)
        return 2 * reach + 1 if above >= enough and unclaimed <= _RAISED_MAX else 0

    def raised(
        self, by: int, moved: Collection[int], in_flight: Mapping[int, InFlightJob]
    ) -> None:
        """Note that all tags are raised from now on, and those of the moved rows already."""
        self.by += by
        behind, low = self._behind, self._low
        self._low = {job_id: low[job_id] + by for job_id in low if job_id in moved}
        self._behind = {}
        for job_id, job in in_flight.items():
            less = behind.get(job_id, 0) + (0 if job_id in moved else by)
            if less:
                self._behind[job_id] = less
                if job.claimed_us == UNCLAIMED and job_id not in self._low:
                    self.came_back(job_id, job.root_tag)
        self.claimed_tags.clear()
        self._check_at = CLAIMED_ABOVE_MAX

    def came_back(self, job_id: int, tag: int) -> None:
        """Note that a row waits again: its tag is what it was, or the floor of now."""
        less = self._behind.get(job_id)
        if less is not None:
            self._low[job_id] = tag + self.by - less

    def floor(self, tag: int, in_flight: Mapping[int, InFlightJob]) -> int:
        """Return the floor to write where the ledger's is `tag`."""
        for job_id in [*self._low]:
            job = in_flight.get(job_id)
            if job is None or job.claimed_us != UNCLAIMED:
                del self._low[job_id]
        return min([tag + self.by, *self._low.values()])
