"""Where a simulation begins, for tests: a tenant's backlog whose first jobs were read."""

from collections.abc import Mapping, Sequence

from fairlead_scheduler.simulation.fair import ONLY, Waiting
from fairlead_scheduler.simulation.moves import Concerned
from fairlead_scheduler.simulation.situation import Came, Ended, Situation
from fairlead_scheduler.simulation.told import Read, Told, Wanted
from fairlead_scheduler.values import QueueRow, Stream

MS, SECOND = 1000, 1_000_000
NOW_US = 1_700_000_000 * SECOND
SLOTS = 8
STREAM: Stream = ("q", "a", 0)


def situation(
    first: Sequence[Told] = (),
    *,
    wanted: Wanted,
    ended: Sequence[Ended],
    jobs: int | None = None,
    rows: Sequence[QueueRow] = (),
    in_flight: Mapping[int, Told] | None = None,
    came: Sequence[Came] = (),
) -> Situation:
    """Return a backlog of tenant a in queue q: of so many jobs, or of those that were read."""
    many = len(first) if jobs is None else jobs
    return Situation(
        now_us=NOW_US,
        slots=SLOTS,
        concerned=Concerned(pools=(ONLY,), queues=frozenset({"q"})),
        rows=rows,
        waiting={STREAM: Waiting(many, more=False, oldest_us=NOW_US)} if many else {},
        ended=ended,
        came=came,
        known_us=SECOND,
        read=Read(
            wanted=wanted,
            in_flight=in_flight or {},
            first={STREAM: tuple(first)},
            ended=[(each.lane, each.told) for each in ended if each.told is not None],
        ),
    )
