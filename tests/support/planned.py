"""What a plan dispatches, by the names of what each row has."""

from itertools import starmap
from typing import NamedTuple

from fairlead_scheduler.ordering.plan import Plan


class Planned(NamedTuple):
    """A row of a plan."""

    id: int
    vtag: int
    estimate_us: int
    seen_us: int | None


def planned(plan: Plan) -> tuple[Planned, ...]:
    """Return the rows of a plan."""
    return tuple(starmap(Planned, plan.rows))
