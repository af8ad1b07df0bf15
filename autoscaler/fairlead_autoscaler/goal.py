"""How many pods a pool needs now: what the terms ask for, between floors and caps."""

from dataclasses import dataclass
from datetime import datetime

from fairlead.policy.autoscale import PODS_MAX, Autoscale
from fairlead_autoscaler import limits, schedules
from fairlead_autoscaler.fleet import Fleet
from fairlead_autoscaler.guards import silence
from fairlead_autoscaler.inputs import Demand, Inputs
from fairlead_autoscaler.rates import Rates
from fairlead_autoscaler.reasons import OF_TERM, Reason, Term
from fairlead_autoscaler.wanted import (
    TICK_SECONDS,
    Situation,
    Wanted,
    due_within,
    left_seconds,
    pods_for,
    wanted,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What of the past the need depends on."""

    rates: Rates | None
    start_seconds: float
    stale_seconds: float | None
    """How old the demand is, where that is too old; None: it is fresh."""
    silent_seconds: float | None
    """The same; where there never was one, for how long nobody has said anything."""
    empty_since: datetime | None
    """Since when nothing waits, runs or is about to fall due; None: something does."""
    replicas: int
    """What is asked of the Deployment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the pool needs now, whatever it needed a moment ago."""

    pods: int
    lasting: int
    """Those of them that may be needed again a moment after they are not."""
    soon: int
    """Pods that are kept where they are there already."""
    reason: Reason
    limited: tuple[Reason, ...] = ()
    term: Term | None = None
    wanted: Wanted | None = None
    cap: int = PODS_MAX
    """Pods that there are at most, whatever was needed."""
    empty: bool = False
    """Whether the pool has been empty for so long that the past does not count."""


def goal(known: Known, inputs: Inputs, fleet: Fleet, config: Autoscale) -> Goal:
    """Return what the pool needs."""
    scheduled = schedules.bounds(config, inputs.now, ahead_seconds=known.start_seconds)
    lowest = limits.floor_of(config, scheduled, silent_seconds=known.silent_seconds)
    if inputs.demand is None or known.stale_seconds is not None:
        sought = _blind(known, inputs)
    else:
        sought = _seeing(known, inputs, inputs.demand, fleet, config)
    falls_back = limits.falls_back(config, known.silent_seconds)
    lifted = Reason.FALLBACK if falls_back else Reason.FLOOR
    above = lowest > sought.pods
    bounded = limits.capped(max(sought.pods, lowest), config, scheduled)
    return Goal(
        pods=bounded.pods,
        lasting=limits.capped(max(sought.lasting, lowest), config, scheduled).pods,
        soon=limits.capped(sought.soon, config, scheduled).pods,
        reason=lifted if above else sought.reason,
        limited=bounded.limited,
        term=Term.FLOOR if above else sought.term,
        wanted=sought.wanted,
        cap=limits.capped(PODS_MAX, config, scheduled).pods,
        empty=sought.empty,
    )


def is_empty(demand: Demand, fleet: Fleet, start_seconds: float) -> bool:
    """Tell whether nothing waits, runs, or falls due before a pod could have started."""
    due = due_within(demand, start_seconds + TICK_SECONDS)
    idle = fleet.running == 0 and demand.oldest_runnable_at is None
    return idle and demand.work_slot_seconds <= 0 and due <= 0


def _blind(known: Known, inputs: Inputs) -> Goal:
    """Return what there is, for want of knowledge: one pod where there is none but a job."""
    if known.replicas == 0 and inputs.pending:
        return Goal(pods=1, lasting=1, soon=1, reason=Reason.WOKEN)
    here = known.replicas
    return Goal(pods=here, lasting=here, soon=here, reason=silence(inputs.demand))


def _seeing(
    known: Known, inputs: Inputs, demand: Demand, fleet: Fleet, config: Autoscale
) -> Goal:
    slots_per_pod = fleet.slots_per_pod(config.slots)
    rate = known.rates.ahead(known.start_seconds) if known.rates else 0.0
    left = left_seconds(demand, inputs.now, config)
    situation = Situation(
        now=inputs.now,
        arrival_rate=rate,
        due_jobs=known.rates.due_jobs if known.rates else 0.0,
        rising=known.rates is not None and known.rates.rising,
        start_seconds=known.start_seconds,
        serving_slots=fleet.serving_slots(inputs.now),
        held_slots=fleet.held_slots(inputs.now, max(left, known.start_seconds)),
        running=fleet.running,
        slots_max=config.max * slots_per_pod,
    )
    asked = wanted(demand, situation, config)
    if known.empty_since is not None and _is_over(known, inputs.now, config):
        pods = pods_for(config.warm_slots, slots_per_pod)
        reason = Reason.RUNNING_WORK if pods else Reason.EMPTY
        return Goal(
            pods=pods,
            lasting=pods,
            soon=0,
            reason=reason,
            term=Term.RUNNING,
            wanted=asked,
            empty=True,
        )
    least = 1 if known.replicas > 0 or known.empty_since is None else 0
    return Goal(
        pods=max(least, pods_for(asked.slots, slots_per_pod)),
        lasting=max(least, pods_for(asked.lasting, slots_per_pod)),
        soon=pods_for(asked.soon, slots_per_pod),
        reason=OF_TERM[asked.term],
        term=asked.term,
        wanted=asked,
    )


def _is_over(known: Known, now: datetime, config: Autoscale) -> bool:
    """Tell whether an empty pool has been kept for long enough; one at zero has."""
    assert known.empty_since is not None
    return known.replicas == 0 or now - known.empty_since >= config.keep
