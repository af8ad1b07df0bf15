"""Which jobs are long, and how many of those may be in flight.

A worker cannot be taken from a job that runs, so the only cure for slots that are all on long
jobs is to keep some from them. Whether a job is long is not known for sure before it ends: its
lane's mean is a guess, a hint of its producer another, and of a new lane there is neither.
"""

from collections.abc import Mapping

from fairlead_scheduler.books import Flight, Lane
from fairlead_scheduler.values import ShortSettings

_STRETCH_MAX = 256


class LongJobs:
    """The long jobs in flight, of which there may be so many as slots are not kept."""

    __slots__ = ("_prior_samples", "_settings", "_slots", "ids")

    def __init__(self, settings: ShortSettings, prior_samples: int) -> None:
        self._settings = settings
        self._prior_samples = prior_samples
        self._slots = 1
        self.ids: set[int] = set()

    @property
    def longer_us(self) -> int:
        """From which run time on a job is long."""
        return self._settings.shorter_us

    @property
    def room(self) -> int:
        """How many long jobs more may be dispatched; not positive when none may."""
        return self._slots - len(self.ids)

    def resize(self, slots: int) -> None:
        """Reckon by this number of live slots, of which long jobs may have one at least."""
        settings = self._settings
        kept = max(settings.lowest, slots * settings.per_10_000 // 10_000)
        self._slots = max(1, slots - kept)

    def read(self, flights: Mapping[int, Flight]) -> None:
        """Count those in flight as long that are charged for so much."""
        longer_us = self.longer_us
        self.ids = {i for i, flight in flights.items() if flight.charged_us >= longer_us}

    def is_long(self, lane: Lane) -> bool:
        """Whether a lane's next job counts as long; it must have one at hand."""
        _, _, hint_us, _ = lane.heads.ready[0]
        mean = lane.mean
        if hint_us is not None:
            return mean.shrunk_us(hint_us, self._prior_samples) >= self.longer_us
        if mean.samples:
            return mean.value_us(0) >= self.longer_us
        return lane.in_flight > 0

    def stretch(self, lane: Lane, *, is_long: bool) -> int:
        """Return how many of a lane's next jobs count like the first, and may go."""
        if not lane.mean.samples:
            return 1
        alike = 0
        for _, _, hint_us, _ in lane.heads.ready:
            if hint_us is not None or alike >= _STRETCH_MAX:
                break
            alike += 1
        return max(1, min(alike, self.room) if is_long else alike)


def long_jobs(
    settings: ShortSettings | None, prior_samples: int, flights: Mapping[int, Flight]
) -> LongJobs | None:
    """Return the long ones of what is in flight; None when nothing is kept from them."""
    if settings is None:
        return None
    found = LongJobs(settings, prior_samples)
    found.read(flights)
    return found
