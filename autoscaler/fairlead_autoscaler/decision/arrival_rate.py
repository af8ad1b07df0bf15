"""How fast work arrives: a quick and a slow exponential average of one counter."""

from dataclasses import dataclass, replace
from math import exp, sqrt

from fairlead_autoscaler.decision.inputs import Demand
from fairlead_autoscaler.decision.slot_demand import jobs_due_within

QUICK_SECONDS = 20.0
SLOW_SECONDS = 180.0
DUE_SECONDS = 60.0
"""Time constant with which scheduled jobs that fell due are forgotten."""
_TREND_SIGMAS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalRate:
    """Jobs a second that became runnable, as exponentially weighted averages."""

    quick: float
    slow: float
    row: Demand
    """The last demand row that was learned from."""
    planned: float = 0.0
    """The slow average of jobs known to fall due, which the other averages leave out."""
    owed: float = 0.0
    """Jobs that should have fallen due by now and are not runnable yet: they may be late."""
    due_jobs: float = 0.0
    """Jobs known in advance that fell due recently and may not have ended yet."""

    @property
    def rising(self) -> bool:
        """Whether the quick average exceeds the slow one by more than chance explains."""
        # The variance of such an average of a Poisson process is its rate over twice its time.
        return self.quick - self.slow > _TREND_SIGMAS * sqrt(self.slow / (2 * QUICK_SECONDS))

    def ahead(self, seconds: float) -> float:
        """Return the rate to expect in so many seconds.

        The larger of the two averages, plus what falls due on average. If the quick average is
        above the slow one by more than random arrivals explain, the line through both is
        extrapolated.
        """
        expected = max(self.quick, self.slow) + self.planned
        if self.rising:
            rise = self.quick - self.slow
            expected += rise / (SLOW_SECONDS - QUICK_SECONDS) * seconds
        return expected


def learned(arrival_rate: ArrivalRate | None, demand: Demand, busy_slots: int) -> ArrivalRate:
    """Return the rates after one more demand row; the same row twice changes nothing.

    Jobs known to fall due are averaged separately: they may have come all at once, and do not
    mean that more will come.

    Args:
        arrival_rate: The former rates; None: this is the first row.
        demand: The row.
        busy_slots: Slots in use. The first row yields the rate that keeps this many busy.
    """
    if arrival_rate is None:
        served = busy_slots / demand.service_mean if demand.service_mean > 0 else 0.0
        return ArrivalRate(quick=served, slow=served, row=demand)
    former = arrival_rate.row
    seconds = (demand.at - former.at).total_seconds()
    if seconds <= 0:
        return arrival_rate
    became = demand.became_runnable_total - former.became_runnable_total
    if demand.epoch != former.epoch or became < 0:
        return replace(arrival_rate, row=demand, owed=0.0, due_jobs=0.0)
    due = jobs_due_within(former, seconds)
    useful = float(demand.slots_useful)
    came = max(0.0, became - due - arrival_rate.owed)
    return ArrivalRate(
        quick=_mixed(arrival_rate.quick, came / seconds, seconds / QUICK_SECONDS),
        slow=_mixed(arrival_rate.slow, came / seconds, seconds / SLOW_SECONDS),
        row=demand,
        planned=_mixed(arrival_rate.planned, (became - came) / seconds, seconds / SLOW_SECONDS),
        owed=max(0.0, due - became),
        due_jobs=min(_mixed(arrival_rate.due_jobs, 0.0, seconds / DUE_SECONDS) + due, useful),
    )


def _mixed(former: float, newer: float, ages: float) -> float:
    return newer + (former - newer) * exp(-ages)
