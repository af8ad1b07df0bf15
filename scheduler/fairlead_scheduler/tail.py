"""The tail of new jobs: which ids have been seen, which holes may still fill, and when.

Ids are drawn before a transaction commits, so they become visible out of order. A hole is probed
again until every transaction that was open when it was noticed has ended; a row found there was
committed late. Duplicates and rollbacks burn ids, so holes are bounded, and what falls out is left to
the sweep.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead_scheduler.values import TailSettings


class Probe(NamedTuple):
    """What to look up now: ranges of ids, both ends included, and single ids."""

    lows: tuple[int, ...]
    highs: tuple[int, ...]
    ids: tuple[int, ...]


class Tail:
    """What the leader knows of the sequence of ids.

    Start it with an id read *before* the first scan of the lanes. An id somewhat below the largest
    (by a few thousand) makes it find rows that were uncommitted at the take-over.
    """

    def __init__(self, last_id: int, now_us: int, settings: TailSettings | None = None) -> None:
        raise NotImplementedError

    @property
    def last_id(self) -> int:
        """Read rows above this id next, ascending."""
        raise NotImplementedError

    @property
    def holes(self) -> int:
        """How many ranges are watched."""
        raise NotImplementedError

    @property
    def dropped(self) -> int:
        """How many ranges and ids were given up because there were too many."""
        raise NotImplementedError

    def read(self, ids: Sequence[int], xmax: int, now_us: int) -> None:
        """Take the ids of one read above `last_id`, ascending, with its `pg_snapshot_xmax`."""
        raise NotImplementedError

    def doubt(self, ids: Iterable[int], now_us: int) -> None:
        """Watch single ids: dispatch refused them, or the plan left them out as in flight."""
        raise NotImplementedError

    def due(self, now_us: int, *, ranges_max: int = 100, ids_max: int = 1000) -> Probe:
        """Return what to probe now; longest overdue first, at ever longer intervals."""
        raise NotImplementedError

    def probed(self, probe: Probe, found: Iterable[int], xmin: int, now_us: int) -> None:
        """Take the ids that a probe found pending, with its `pg_snapshot_xmin`.

        Found ids are watched no longer, nor are ranges whose transactions have all ended, nor
        single ids that are not pending: their return is announced otherwise.
        """
        raise NotImplementedError

    def seen_us(self, job_id: int, now_us: int) -> int | None:
        """Return when this id was first seen: `now_us` in a hole, None before this leader."""
        raise NotImplementedError
