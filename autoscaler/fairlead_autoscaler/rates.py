"""How fast work arrives: two averages of one counter, a quick one and a slow one."""

from dataclasses import dataclass, replace
from math import exp, sqrt

from fairlead_autoscaler.inputs import Demand
from fairlead_autoscaler.wanted import due_within

QUICK_SECONDS = 20.0
SLOW_SECONDS = 180.0
DUE_SECONDS = 60.0
"""Within about that, what fell due is forgotten: what runs then came by itself, or lasts."""
_TREND_SIGMAS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Jobs a second that became runnable, averaged with exponential weights."""

    quick: float
    slow: float
    row: Demand
    """The last row that they were learned from."""
    planned: float = 0.0
    """The slow average of what had been known to fall due, which the others leave out."""
    owed: float = 0.0
    """Jobs that were to fall due before it and did not become runnable: they may be late."""
    due_jobs: float = 0.0
    """Jobs that were known to fall due, did so of late, and may not have ended yet."""

    @property
    def rising(self) -> bool:
        """Whether the quick average is above the slow one by more than chance would have it."""
        # The variance of such an average of a Poisson process is its rate over twice its time.
        return self.quick - self.slow > _TREND_SIGMAS * sqrt(self.slow / (2 * QUICK_SECONDS))

    def ahead(self, seconds: float) -> float:
        """Return the rate to expect in so many seconds.

        The larger of the two averages, and what falls due on average; where the quick one is
        above the slow one by more than arrivals at random would be, the line through both is
        carried on.
        """
        expected = max(self.quick, self.slow) + self.planned
        if self.rising:
            rise = self.quick - self.slow
            expected += rise / (SLOW_SECONDS - QUICK_SECONDS) * seconds
        return expected


def learned(rates: Rates | None, demand: Demand, busy_slots: int) -> Rates:
    """Return the rates with one more row; the same row twice changes nothing.

    What was known to fall due is averaged for itself: it may have come all at once, and is no
    sign that more comes now.

    Args:
        rates: As they were; None: this is the first row.
        demand: The row.
        busy_slots: What runs. At the first row the rate is what keeps so many slots busy.
    """
    if rates is None:
        served = busy_slots / demand.service_mean if demand.service_mean > 0 else 0.0
        return Rates(quick=served, slow=served, row=demand)
    former = rates.row
    seconds = (demand.at - former.at).total_seconds()
    if seconds <= 0:
        return rates
    became = demand.became_runnable_total - former.became_runnable_total
    if demand.epoch != former.epoch or became < 0:
        return replace(rates, row=demand, owed=0.0, due_jobs=0.0)
    mean = former.service_mean
    due = due_within(former, seconds) / mean if mean > 0 else 0.0
    useful = float(demand.slots_useful)
    came = max(0.0, became - due - rates.owed)
    return Rates(
        quick=_mixed(rates.quick, came / seconds, seconds / QUICK_SECONDS),
        slow=_mixed(rates.slow, came / seconds, seconds / SLOW_SECONDS),
        row=demand,
        planned=_mixed(rates.planned, (became - came) / seconds, seconds / SLOW_SECONDS),
        owed=max(0.0, due - became),
        due_jobs=min(_mixed(rates.due_jobs, 0.0, seconds / DUE_SECONDS) + due, useful),
    )


def _mixed(former: float, newer: float, ages: float) -> float:
    return newer + (former - newer) * exp(-ages)
