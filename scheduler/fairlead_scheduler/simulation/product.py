"""The conditions under which the product works: its tick, its round trips, its own depth."""

from collections.abc import Sequence

from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.fleet import Fleet

ROUND_TRIP_US = 1000
"""A statement's way to the database and back, as the scheduler counts it."""
TICK_US = round(SchedulerSettings.model_fields["tick_seconds"].default * 1e6)


def fleet(slots: int, beside: Sequence[int] = ()) -> Fleet:
    """Return a fleet under the product's conditions, with so many slots in each pool."""
    return Fleet(
        slots=slots,
        beside=tuple(beside),
        tick_us=TICK_US,
        dispatch_us=ROUND_TRIP_US,
        claim_us=ROUND_TRIP_US,
        depth=None,
    )
