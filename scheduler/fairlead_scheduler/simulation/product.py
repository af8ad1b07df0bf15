"""The conditions under which the product works: its tick, its round trips, its own depth."""

from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.fleet import Fleet

ROUND_TRIP_US = 1000
"""A statement's way to the database and back, as the scheduler counts it."""
TICK_US = round(SchedulerSettings.model_fields["tick_seconds"].default * 1e6)


def fleet(slots: int) -> Fleet:
    """Return a fleet of so many slots under the product's conditions."""
    return Fleet(
        slots=slots,
        tick_us=TICK_US,
        dispatch_us=ROUND_TRIP_US,
        claim_us=ROUND_TRIP_US,
        depth=None,
    )
