"""How many pods a pool needs now: what the terms ask for, between floors and caps."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from fairlead.policy.autoscale import PODS_MAX, Autoscale
from fairlead_autoscaler.decision import limits, schedules
from fairlead_autoscaler.decision.arrival_rate import ArrivalRate
from fairlead_autoscaler.decision.fleet import Fleet
from fairlead_autoscaler.decision.guards import silence
from fairlead_autoscaler.decision.inputs import Demand, Inputs
from fairlead_autoscaler.decision.reasons import OF_TERM, DemandTerm, Reason
from fairlead_autoscaler.decision.slot_demand import (
    SOON_SECONDS,
    TICK_SECONDS,
    DemandInputs,
    SlotDemand,
    due_within,
    left_seconds,
    one_pod_each,
    pods_for,
    term_slots,
)
from fairlead_autoscaler.targets import Removal


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolHistory:
    """What the need depends on, of the past."""

    arrival_rate: ArrivalRate | None
    start_seconds: float
    ahead_seconds: float
    """The same where pods may wait for a node: what falls due within it is planned for."""
    stale_seconds: float | None
    """Age of a demand row that is too old; None: the row is fresh."""
    silent_seconds: float | None
    """The same; if there never was a row, how long we have waited for one."""
    empty_since: datetime | None
    """Since when nothing waits, runs or is about to fall due; None: something does."""
    replicas: int
    """The workload's requested replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the pool needs now, whatever it needed a moment ago."""

    pods: int
    lasting: int
    """Those of them that may be needed again soon: they enter the stabilization window."""
    soon: int
    """Pods that are kept if they exist, for work that soon falls due."""
    reason: Reason
    limited: tuple[Reason, ...] = ()
    term: DemandTerm | None = None
    slot_demand: SlotDemand | None = None
    cap: int = PODS_MAX
    """The most pods there may be, whatever was needed."""
    empty: bool = False
    """Whether the pool has been empty for so long that the past need is ignored."""


def pool_goal(known: PoolHistory, inputs: Inputs, fleet: Fleet, config: Autoscale) -> Goal:
    """Return what the pool needs."""
    scheduled = schedules.bounds(config, inputs.now, ahead_seconds=known.ahead_seconds)
    lowest = limits.floor_of(config, scheduled, silent_seconds=known.silent_seconds)
    if inputs.demand is None or known.stale_seconds is not None:
        found = _without_demand(known, inputs)
    else:
        found = _from_demand(known, inputs, inputs.demand, fleet, config)
    is_fallback_active = limits.is_fallback_active(config, known.silent_seconds)
    lifted = Reason.FALLBACK if is_fallback_active else Reason.FLOOR
    above = lowest > found.pods
    capped = partial(
        limits.capped,
        config=config,
        scheduled=scheduled,
        quota=limits.quota_cap(inputs, fleet),
    )
    bounded = capped(max(found.pods, lowest))
    return Goal(
        pods=bounded.pods,
        lasting=capped(max(found.lasting, lowest)).pods,
        soon=capped(found.soon).pods,
        reason=lifted if above else found.reason,
        limited=bounded.limited,
        term=DemandTerm.FLOOR if above else found.term,
        slot_demand=found.slot_demand,
        cap=capped(PODS_MAX).pods,
        empty=found.empty,
    )


def is_empty(demand: Demand, fleet: Fleet, ahead_seconds: float, replicas: int) -> bool:
    """Return whether nothing waits, runs, or falls due before a pod could have started.

    Pods that are there are kept for what falls due soon, however fast they start.
    """
    ahead = ahead_seconds + TICK_SECONDS
    due = due_within(demand, max(SOON_SECONDS, ahead) if replicas > 0 else ahead)
    idle = fleet.running == 0 and demand.oldest_runnable_at is None
    return idle and demand.work_slot_seconds <= 0 and due <= 0


def _without_demand(known: PoolHistory, inputs: Inputs) -> Goal:
    """Return the present pods; one pod for a pool at zero that has a job."""
    if known.replicas == 0 and inputs.pending:
        return Goal(pods=1, lasting=1, soon=1, reason=Reason.WOKEN)
    here = known.replicas
    return Goal(pods=here, lasting=here, soon=here, reason=silence(inputs.demand))


def _from_demand(
    known: PoolHistory, inputs: Inputs, demand: Demand, fleet: Fleet, config: Autoscale
) -> Goal:
    ends = inputs.workload.removal is Removal.BY_THEMSELVES
    demand = one_pod_each(demand, known.start_seconds) if ends else demand
    slots_per_pod = 1 if ends else fleet.slots_per_pod(config.slots)
    # A pod that ends after one job is made for a job that is there; `warm` has some wait.
    learned = None if ends else known.arrival_rate
    rate = learned.ahead(known.start_seconds) if learned else 0.0
    left = left_seconds(demand, inputs.now, config)
    situation = DemandInputs(
        now=inputs.now,
        arrival_rate=rate,
        due_jobs=known.arrival_rate.due_jobs if known.arrival_rate else 0.0,
        rising=learned is not None and learned.rising,
        start_seconds=known.start_seconds,
        ahead_seconds=known.ahead_seconds,
        serving_slots=_serving_slots(inputs, fleet),
        held_slots=_held_slots(inputs, fleet, max(left, known.start_seconds)),
        running=fleet.running,
        slots_max=config.max * slots_per_pod,
    )
    asked = term_slots(demand, situation, config)
    if known.empty_since is not None and _kept_long_enough(known, inputs.now, config):
        pods = pods_for(config.warm_slots, slots_per_pod)
        reason = Reason.RUNNING_WORK if pods else Reason.EMPTY
        return Goal(
            pods=pods,
            lasting=pods,
            soon=0,
            reason=reason,
            term=DemandTerm.RUNNING,
            slot_demand=asked,
            empty=True,
        )
    least = 1 if known.replicas > 0 or known.empty_since is None else 0
    return Goal(
        pods=max(least, pods_for(asked.slots, slots_per_pod)),
        lasting=max(least, pods_for(asked.lasting, slots_per_pod)),
        soon=pods_for(asked.soon, slots_per_pod),
        reason=OF_TERM[asked.term],
        term=asked.term,
        slot_demand=asked,
    )


def _serving_slots(inputs: Inputs, fleet: Fleet) -> int:
    """Return the slots of pods that take jobs; one that ends has one, whatever it says."""
    if inputs.workload.removal is Removal.BY_THEMSELVES:
        working = (each for each in fleet.members if each.worker is not None)
        return sum(not each.is_marked(inputs.now) for each in working)
    return fleet.serving_slots(inputs.now)


def _held_slots(inputs: Inputs, fleet: Fleet, seconds: float) -> int:
    """Return the slots that do not come free in time; of a pod that ends, its job's never."""
    if inputs.workload.removal is Removal.BY_THEMSELVES:
        return fleet.running
    return fleet.held_slots(inputs.now, seconds)


def _kept_long_enough(known: PoolHistory, now: datetime, config: Autoscale) -> bool:
    """Return whether an empty pool has been kept for long enough; one at zero has."""
    assert known.empty_since is not None
    return known.replicas == 0 or now - known.empty_since >= config.keep
