"""How many slots a pool needs: each term asks for some, and the largest decides.

| term | slots |
|---|---|
| steady | the fewest with which at most 1 % of arrivals wait over 70 % of the objective |
| drain | the load, what empties the backlog in time, and held slots; only while in danger |
| scheduled | the load, and what falls due before a pod is there, over 40 % of the objective |
| running | what runs, and what is kept warm on top |

Existing jobs, and those that fall due, bound drain and scheduled: one job of an hour can use
one slot, however much work that is. They bound steady too, plus its headroom, since existing
jobs are known better than a rate is; but not while the rate rises by more than chance: then
existing jobs understate the need, and only what the policy would let be busy at once bounds it.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil, inf

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.erlang import slots_needed
from fairlead_autoscaler.decision.fleet import spread_of
from fairlead_autoscaler.decision.inputs import SCHEDULED_WITHIN_SECONDS, Demand, Fires
from fairlead_autoscaler.decision.reasons import DemandTerm

TICK_SECONDS = 5.0
OBJECTIVE_SHARE = 0.7
"""The share of the objective to plan with; the rest absorbs estimation errors."""
SCHEDULED_SHARE = 0.4
"""The same for scheduled jobs: all wait at once, and the last of them the longest."""
SOON_SECONDS = 60.0
"""Jobs due this soon keep existing pods: a restart would take nearly as long."""
LATE_SHARE = 0.01
DRAIN_SECONDS_LEAST = 2 * TICK_SECONDS
"""The least time to plan for a backlog: late jobs do not justify any number of pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandInputs:
    """What the terms are computed from, in addition to the demand itself."""

    now: datetime
    arrival_rate: float
    """Jobs a second, as expected for when a pod requested now has started."""
    due_jobs: float
    """Jobs that fell due recently and may not have ended yet."""
    rising: bool
    """Whether the rate rises by more than chance explains."""
    start_seconds: float
    ahead_seconds: float
    """How long a pod takes to be there where it may wait for a node: what falls due within it
    is planned for."""
    serving_slots: int
    held_slots: int
    """Of these, slots that do not come free in time nor before a new pod would be up."""
    running: int
    slots_max: int
    """Slots of the most pods allowed: no term asks for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDemand:
    """How many slots each term asks for, with fractions."""

    steady: float = 0.0
    drain: float = 0.0
    scheduled: float = 0.0
    running: float = 0.0
    due_running: float = 0.0
    """Running slots whose jobs were known to fall due, at most."""
    soon: float = 0.0
    """Slots kept, not added, for jobs that fall due soon or just did."""
    useful: float = inf
    """Bounds drain and scheduled: slots that existing and due jobs can use."""
    allowed: float = inf
    """Bounds steady."""

    def of(self, term: DemandTerm) -> float:
        """Return what a term asks for, bounded; 0 for the floor, which asks for pods."""
        asked = {
            DemandTerm.STEADY: min(self.steady, self.allowed),
            DemandTerm.DRAIN: min(self.drain, self.useful),
            DemandTerm.SCHEDULED: min(self.scheduled, self.useful),
            DemandTerm.RUNNING: self.running,
        }
        return asked.get(term, 0.0)

    @property
    def term(self) -> DemandTerm:
        """The largest term; of equal ones the first in the table."""
        return max(
            (DemandTerm.STEADY, DemandTerm.DRAIN, DemandTerm.SCHEDULED, DemandTerm.RUNNING),
            key=self.of,
        )

    @property
    def slots(self) -> float:
        """What the pool needs."""
        return self.of(self.term)

    @property
    def lasting(self) -> float:
        """What may be needed again a moment later, because it is an estimate.

        Scheduled jobs, and what runs of them, are needed once; other arrivals may recur.
        """
        return max(
            self.of(DemandTerm.STEADY),
            self.of(DemandTerm.DRAIN),
            self.running - self.due_running,
        )


def term_slots(demand: Demand, situation: DemandInputs, config: Autoscale) -> SlotDemand:
    """Return what each term asks for."""
    objective = config.objective.total_seconds()
    load = min(situation.arrival_rate * demand.service_mean, float(situation.slots_max))
    steady = _steady(demand, situation, load=load, wait_seconds=OBJECTIVE_SHARE * objective)
    ahead = situation.ahead_seconds + TICK_SECONDS
    within = max(SOON_SECONDS, ahead)
    due, soon = due_within(demand, ahead), due_within(demand, within)
    return SlotDemand(
        steady=float(steady),
        drain=_drain(demand, situation, load=load, config=config),
        scheduled=_scheduled(due, load=load, objective=objective),
        running=float(config.warm_slots + situation.running),
        due_running=situation.due_jobs,
        soon=min(
            max(_scheduled(soon, load=load, objective=objective), load + situation.due_jobs),
            demand.slots_useful + jobs_due_within(demand, within),
        ),
        useful=_useful(demand, situation) + jobs_due_within(demand, ahead),
        allowed=float(
            demand.slots_allowed
            if situation.rising
            else min(demand.slots_allowed, demand.slots_useful + steady - load)
        ),
    )


def one_pod_each(demand: Demand, start_seconds: float) -> Demand:
    """Return the demand of a pool whose pods run one job each: each takes a start as well."""
    mean = demand.service_mean or 1.0
    longer = (mean + start_seconds) / mean
    return replace(
        demand,
        service_mean=mean + start_seconds,
        work_slot_seconds=demand.work_slot_seconds * longer,
        scheduled_slot_seconds=tuple(each * longer for each in demand.scheduled_slot_seconds),
        fires=tuple(
            each._replace(slot_seconds=each.slot_seconds * longer) for each in demand.fires
        ),
    )


def _useful(demand: Demand, situation: DemandInputs) -> float:
    """Return what the existing jobs can use, as far as that was counted.

    The scheduler counts up to the pool's maximum. As a bound that would keep the pool from ever
    asking for more than its maximum, so that the limit would never be reported.
    """
    return inf if demand.slots_useful >= situation.slots_max else demand.slots_useful


def due_within(demand: Demand, seconds: float) -> float:
    """Return the slot-seconds that fall due within a time, what schedules fire included."""
    fires = sum(each.slot_seconds for each in fires_within(demand, seconds))
    return _delayed_within(demand, seconds) + fires


def jobs_due_within(demand: Demand, seconds: float) -> float:
    """Return how many jobs that is: of delayed ones only the work was counted."""
    fires = sum(each.jobs for each in fires_within(demand, seconds))
    return _delayed_within(demand, seconds) / (demand.service_mean or 1.0) + fires


def fires_within(demand: Demand, seconds: float) -> tuple[Fires, ...]:
    """Return what schedules fire within a time; their instants are known."""
    until = demand.at.timestamp() + seconds
    return tuple(each for each in demand.fires if each.at <= until)


def _delayed_within(demand: Demand, seconds: float) -> float:
    """Return the slot-seconds of delayed jobs, interpolated between horizons."""
    before_seconds, before = 0.0, 0.0
    counted = demand.scheduled_slot_seconds
    for within, work in zip(SCHEDULED_WITHIN_SECONDS, counted, strict=True):
        if seconds <= within:
            share = (seconds - before_seconds) / (within - before_seconds)
            return before + (work - before) * share
        before_seconds, before = within, work
    return before


def oldest_wait_seconds(demand: Demand, now: datetime) -> float:
    """Return how long the oldest runnable job has waited; a future date counts as now."""
    since = demand.oldest_runnable_at
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def left_seconds(demand: Demand, now: datetime, config: Autoscale) -> float:
    """Return what is left of the oldest waiting job's objective; below 0 it is late."""
    return config.objective.total_seconds() - oldest_wait_seconds(demand, now)


def _steady(
    demand: Demand, situation: DemandInputs, *, load: float, wait_seconds: float
) -> int:
    # Arrivals are assumed random: their squared coefficient of variation is 1.
    spread = (1 + spread_of(demand.service_mean, demand.service_variance)) / 2
    return slots_needed(
        load,
        wait_seconds=wait_seconds,
        service_seconds=max(demand.service_mean * spread, 1e-6),
        late_share=LATE_SHARE,
        most=situation.slots_max,
    )


def _scheduled(due: float, *, load: float, objective: float) -> float:
    """Return what does work that falls due at once within a share of the objective."""
    return load + due / (SCHEDULED_SHARE * objective) if due > 0 else 0.0


def _drain(demand: Demand, situation: DemandInputs, *, load: float, config: Autoscale) -> float:
    """Return what empties the backlog in time, counted from when new pods have started.

    A serving slot is assumed to come free after a job's mean, as most do. A held one is not:
    otherwise the backlog would be planned onto slots that take none of it, and a full pool of
    long jobs would never grow. Nor is one that is kept for short jobs.
    """
    work, held = demand.work_slot_seconds, situation.held_slots + demand.slots_kept
    free = situation.serving_slots - held
    if work <= 0:
        return 0.0
    objective = config.objective.total_seconds()
    left = left_seconds(demand, situation.now, config)
    if free > 0 and objective - left + work / free <= OBJECTIVE_SHARE * objective:
        return 0.0
    ahead = situation.start_seconds
    still = max(0.0, work + (load - free) * ahead)
    return held + load + still / max(DRAIN_SECONDS_LEAST, left - ahead)


def pods_for(slots: float, slots_per_pod: int) -> int:
    """Return the pods that have this many slots."""
    return ceil(round(slots / slots_per_pod, 9))
