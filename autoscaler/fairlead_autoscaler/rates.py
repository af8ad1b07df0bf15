"""How fast work arrives: two averages of one counter, a quick one and a slow one."""

from dataclasses import dataclass
from datetime import datetime
from math import exp, sqrt

from fairlead_autoscaler.inputs import Demand

QUICK_SECONDS = 20.0
SLOW_SECONDS = 180.0
_TREND_SIGMAS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Jobs a second that became runnable, averaged with exponential weights."""

    quick: float
    slow: float
    epoch: int
    total: int
    at: datetime

    def ahead(self, seconds: float) -> float:
        """Return the rate to expect in so many seconds.

        The larger of the two averages; where the quick one is above the slow one by more than
        arrivals at random would be, the line through both is carried on.
        """
        expected = max(self.quick, self.slow)
        rise = self.quick - self.slow
        # The variance of such an average of a Poisson process is its rate over twice its time.
        if rise > _TREND_SIGMAS * sqrt(self.slow / (2 * QUICK_SECONDS)):
            expected += rise / (SLOW_SECONDS - QUICK_SECONDS) * seconds
        return expected


def learned(rates: Rates | None, demand: Demand, busy_slots: int) -> Rates:
    """Return the rates with one more row; the same row twice changes nothing.

    Args:
        rates: As they were; None: this is the first row.
        demand: The row.
        busy_slots: What runs. At the first row the rate is what keeps so many slots busy.
    """
    if rates is None:
        served = busy_slots / demand.service_mean if demand.service_mean > 0 else 0.0
        return _from(demand, quick=served, slow=served)
    seconds = (demand.at - rates.at).total_seconds()
    if seconds <= 0:
        return rates
    came = demand.became_runnable_total - rates.total
    if demand.epoch != rates.epoch or came < 0:
        return _from(demand, quick=rates.quick, slow=rates.slow)
    rate = came / seconds
    return _from(
        demand,
        quick=_mixed(rates.quick, rate, seconds / QUICK_SECONDS),
        slow=_mixed(rates.slow, rate, seconds / SLOW_SECONDS),
    )


def _mixed(former: float, newer: float, ages: float) -> float:
    return newer + (former - newer) * exp(-ages)


def _from(demand: Demand, *, quick: float, slow: float) -> Rates:
    return Rates(
        quick=quick,
        slow=slow,
        epoch=demand.epoch,
        total=demand.became_runnable_total,
        at=demand.at,
    )
