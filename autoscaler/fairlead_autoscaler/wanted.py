"""How many slots a pool needs: terms that each ask for some, of which the largest decides.

| term | slots |
|---|---|
| steady | the least with which at most 1 % of arrivals wait longer than 70 % of the objective |
| drain | the load, what empties the backlog in time, and slots held; only while in danger |
| scheduled | the load, and what falls due within a start delay, over 70 % of the objective |
| running | what runs, and what is kept warm above it |

Jobs that are there, or fall due, bound drain and scheduled: one that takes an hour can use one
slot, however much work that is. They bound steady, too, with its headroom above them, for a
rate is known worse than what it has led to; but not while the rate rises by more than chance:
then what is there says too little, and only what the policy would let be busy at once does.
"""

from dataclasses import dataclass
from datetime import datetime
from math import ceil, inf

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.erlang import slots_needed
from fairlead_autoscaler.fleet import spread_of
from fairlead_autoscaler.inputs import SCHEDULED_WITHIN_SECONDS, Demand
from fairlead_autoscaler.reasons import Term

TICK_SECONDS = 5.0
OBJECTIVE_SHARE = 0.7
"""Of the objective that is planned with: the rest is for what was estimated wrongly."""
SCHEDULED_SHARE = 0.4
"""The same for what falls due: all of it waits at once, and the last of it the longest."""
SOON_SECONDS = 60.0
"""What falls due so soon keeps pods that are there: to start them anew takes nearly as long."""
LATE_SHARE = 0.01
DRAIN_SECONDS_LEAST = 2 * TICK_SECONDS
"""A backlog is never to be gone sooner: what is late already need not be met at any price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the terms are computed from, beside the demand itself."""

    now: datetime
    arrival_rate: float
    """Jobs a second, as expected for when a pod that is asked for now has started."""
    due_jobs: float
    """Jobs that fell due of late and may not have ended yet."""
    rising: bool
    """Whether the rate rises by more than chance."""
    start_seconds: float
    serving_slots: int
    held_slots: int
    """Of these, what comes free for nothing that waits: not in time, nor before a new pod."""
    running: int
    slots_max: int
    """Of as many pods as there may be: nothing asks for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How many slots each term asks for, fractions and all."""

    steady: float = 0.0
    drain: float = 0.0
    scheduled: float = 0.0
    running: float = 0.0
    due_running: float = 0.0
    """Of the slots that run, those whose jobs had been known to fall due, at most."""
    soon: float = 0.0
    """What is kept, and not added, for what falls due before long or did a moment ago."""
    useful: float = inf
    """What bounds drain and scheduled: slots that the jobs that are there, or fall due, use."""
    allowed: float = inf
    """What bounds steady."""

    def of(self, term: Term) -> float:
        """Return what a term asks for, bounded; 0 of the floor, which asks for pods."""
        asked = {
            Term.STEADY: min(self.steady, self.allowed),
            Term.DRAIN: min(self.drain, self.useful),
            Term.SCHEDULED: min(self.scheduled, self.useful),
            Term.RUNNING: self.running,
        }
        return asked.get(term, 0.0)

    @property
    def term(self) -> Term:
        """The term that asks for most; of equal ones the first in the table."""
        return max((Term.STEADY, Term.DRAIN, Term.SCHEDULED, Term.RUNNING), key=self.of)

    @property
    def slots(self) -> float:
        """What the pool needs."""
        return self.of(self.term)

    @property
    def lasting(self) -> float:
        """What it may need again a moment later, because it was guessed and not known.

        What falls due, and what runs of it, is needed once; the rest came by itself, and more
        of it may.
        """
        return max(self.of(Term.STEADY), self.of(Term.DRAIN), self.running - self.due_running)


def wanted(demand: Demand, situation: Situation, config: Autoscale) -> Wanted:
    """Return what each term asks for."""
    objective = config.objective.total_seconds()
    load = min(situation.arrival_rate * demand.service_mean, float(situation.slots_max))
    steady = _steady(demand, situation, load=load, wait_seconds=OBJECTIVE_SHARE * objective)
    ahead = situation.start_seconds + TICK_SECONDS
    due = due_within(demand, ahead)
    mean = demand.service_mean or 1.0
    soon = due_within(demand, max(SOON_SECONDS, ahead))
    return Wanted(
        steady=float(steady),
        drain=_drain(demand, situation, load=load, config=config),
        scheduled=_scheduled(due, load=load, objective=objective),
        running=float(config.warm_slots + situation.running),
        due_running=situation.due_jobs,
        soon=min(
            max(_scheduled(soon, load=load, objective=objective), load + situation.due_jobs),
            demand.slots_useful + soon / mean,
        ),
        useful=_useful(demand, situation) + due / mean,
        allowed=float(
            demand.slots_allowed
            if situation.rising
            else min(demand.slots_allowed, demand.slots_useful + steady - load)
        ),
    )


def _useful(demand: Demand, situation: Situation) -> float:
    """Return what the jobs that are there can use, as far as that was counted.

    The scheduler counts up to the most that there may be. Taken for a bound, that would never
    let a pool ask for more than its maximum, so that nobody heard that it is held back by it.
    """
    return inf if demand.slots_useful >= situation.slots_max else demand.slots_useful


def due_within(demand: Demand, seconds: float) -> float:
    """Return the slot-seconds of work that fall due within a time, even between two counts."""
    before_seconds, before = 0.0, 0.0
    counted = demand.scheduled_slot_seconds
    for within, work in zip(SCHEDULED_WITHIN_SECONDS, counted, strict=True):
        if seconds <= within:
            share = (seconds - before_seconds) / (within - before_seconds)
            return before + (work - before) * share
        before_seconds, before = within, work
    return before


def oldest_wait_seconds(demand: Demand, now: datetime) -> float:
    """Return how long the oldest job that may run has waited; a date to come counts as now."""
    since = demand.oldest_runnable_at
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def left_seconds(demand: Demand, now: datetime, config: Autoscale) -> float:
    """Return what is left of the objective of the oldest job that waits; below 0 it is late."""
    return config.objective.total_seconds() - oldest_wait_seconds(demand, now)


def _steady(demand: Demand, situation: Situation, *, load: float, wait_seconds: float) -> int:
    # Arrivals are taken to be random: the squared coefficient of variation between them is 1.
    spread = (1 + spread_of(demand.service_mean, demand.service_variance)) / 2
    return slots_needed(
        load,
        wait_seconds=wait_seconds,
        service_seconds=max(demand.service_mean * spread, 1e-6),
        late_share=LATE_SHARE,
        most=situation.slots_max,
    )


def _scheduled(due: float, *, load: float, objective: float) -> float:
    """Return what does work that falls due at once in a share of the objective."""
    return load + due / (SCHEDULED_SHARE * objective) if due > 0 else 0.0


def _drain(demand: Demand, situation: Situation, *, load: float, config: Autoscale) -> float:
    """Return what empties the backlog in time, counted from when new pods have started.

    A serving slot counts as one that comes free after a job's mean, as most do. One that is
    held does not: what waits would be planned onto slots that take none of it, and a full pool
    whose jobs run long would never grow.
    """
    work, held = demand.work_slot_seconds, situation.held_slots
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
    """Return the pods that have so many slots."""
    return ceil(round(slots / slots_per_pod, 9))
