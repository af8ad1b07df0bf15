"""What the bands of a pool dispatch, as one plan."""

from collections.abc import Sequence
from operator import itemgetter

from fairlead_scheduler.picks import Picks
from fairlead_scheduler.values import BandPlan, Plan


def planned(
    found: Sequence[Picks], floors: Sequence[int], overflow: int, pool: str | None
) -> Plan:
    """Return what the bands of a pool dispatch as one plan."""
    parts = [
        BandPlan(band, tuple(sorted(picks.jobs, key=_id_of)), floor)
        for band, (picks, floor) in enumerate(zip(found, floors, strict=True))
    ]
    rows = parts[0].rows
    if len(parts) > 1:
        rows = tuple(sorted((row for part in parts for row in part.rows), key=_id_of))
    doubtful = tuple([job_id for picks in found for job_id in picks.doubtful])
    used = {each[:3]: each for picks in found for each in picks.used()}
    bands = tuple(part for part in parts if part.rows) if len(parts) > 1 else ()
    return Plan(rows, floors[0], doubtful, overflow, tuple(used.values()), bands, pool or "")


_id_of = itemgetter(0)
