"""How many pods a pool is to have: one pure function of observed inputs and remembered state.

The controller, the benchmark's simulation and `fairlead dev` call the same function. Called
again with the state it returned and the same inputs, it asks for no second write.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision import (
    arrival_rate,
    conditions,
    drains,
    fleet,
    foreign_writers,
    readiness,
    removals,
    startup_delay,
)
from fairlead_autoscaler.decision.drains import MARK_DURATION, DrainMove, PoolPods
from fairlead_autoscaler.decision.fleet import Fleet
from fairlead_autoscaler.decision.foreign_writers import KnownReplicas, WriterState
from fairlead_autoscaler.decision.goal import Goal, PoolHistory, is_empty, pool_goal
from fairlead_autoscaler.decision.guards import SILENT, Guards, guards, stale_seconds
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.limits import ScaleUp, limited_scale_up
from fairlead_autoscaler.decision.reasons import DemandTerm, Reason
from fairlead_autoscaler.decision.result import Decision, State
from fairlead_autoscaler.decision.slot_demand import TICK_SECONDS, fires_within
from fairlead_autoscaler.decision.stabilization import NeedPoint, highest, with_need
from fairlead_autoscaler.targets import Removal

SCALE_UPS_KEPT = timedelta(minutes=10)
WINDOW_STARTS = 2
"""The pool does not shrink within this many start delays: a pod is slow to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Situation:
    """The inputs of one tick with what was derived from them, as the steps pass it on."""

    inputs: Inputs
    config: Autoscale
    fleet: Fleet
    pods_now: PoolPods
    known: PoolHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What is done now."""

    move: DrainMove
    pods: int
    reason: Reason
    limited: tuple[Reason, ...] = ()


def decide(state: State, inputs: Inputs, config: Autoscale) -> Decision:
    """Decide on one pool.

    Args:
        state: What the last decision returned; `State()` at first.
        inputs: One reading of the database and the cluster.
        config: The pool's section of the policy.
    """
    # 1. Learn from the inputs.
    state, situation = _learn(state, inputs, config)
    # 2. What is forbidden?
    guard = guards(
        inputs,
        state.writers,
        config,
        stale=situation.known.stale_seconds,
        pod_may_return=situation.pods_now.removal is not Removal.BY_THEMSELVES
        and readiness.may_return(
            state.lost, situation.fleet, inputs.now, situation.known.start_seconds
        ),
    )
    # 3. How many pods are needed now, and how many were recently?
    goal = pool_goal(situation.known, inputs, situation.fleet, config)
    state = _remember_need(state, situation, goal.lasting)
    # 4. What is done now?
    step = _step(state, situation, goal, guard)
    # 5. What is written and reported?
    return _decision(state, situation, goal, guard, step)


def _learn(state: State, inputs: Inputs, config: Autoscale) -> tuple[State, _Situation]:
    now, demand = inputs.now, inputs.demand
    writers = foreign_writers.observed(state.writers, inputs)
    here = fleet.of(inputs)
    marks = drains.observed(
        state.drains,
        here,
        now,
        cluster_at=inputs.cluster_at,
        failed_at=_failed_at(state.writers, inputs),
    )
    replicas = _requested_replicas(writers.written, inputs)
    learned = startup_delay.learned(
        state.startup_delays, here, tuple(each.at for each in state.scale_ups)
    )
    start_seconds = learned.delay_seconds(config.start_prior)
    ahead_seconds = learned.ahead_seconds(config.start_prior, now)
    stale = stale_seconds(demand, now)
    rated, empty_since = state.arrival_rate, state.empty_since
    if demand is not None and stale is None:
        rated = arrival_rate.learned(rated, demand, here.running)
        empty = is_empty(demand, here, ahead_seconds, replicas)
        empty_since = (empty_since or now) if empty else None
    started_at = state.started_at or now
    silent = (now - started_at).total_seconds() if demand is None else stale
    state = replace(
        state,
        started_at=started_at,
        arrival_rate=rated,
        startup_delays=learned,
        empty_since=empty_since,
        drains=marks,
        lost=readiness.observed(state.lost, here, now),
        writers=writers,
        scale_ups=tuple(each for each in state.scale_ups if now - each.at < SCALE_UPS_KEPT),
    )
    known = PoolHistory(
        arrival_rate=rated,
        start_seconds=start_seconds,
        ahead_seconds=ahead_seconds,
        stale_seconds=stale,
        silent_seconds=silent,
        empty_since=empty_since,
        replicas=replicas,
    )
    removal = inputs.workload.removal
    pods_now = drains.sorted_pods(marks, here, now, replicas, removal)
    return state, _Situation(
        inputs=inputs, config=config, fleet=here, pods_now=pods_now, known=known
    )


def _failed_at(writers: WriterState, inputs: Inputs) -> datetime | None:
    """Return when the last write was decided if it failed and visibly had no effect."""
    failed = inputs.write_failed and not foreign_writers.has_taken_effect(writers, inputs)
    return writers.written.at if failed and writers.written is not None else None


def _requested_replicas(written: KnownReplicas | None, inputs: Inputs) -> int:
    """Return the workload's requested replicas, our own last write included."""
    workload = inputs.workload
    if written is not None and written.version == workload.version:
        return written.replicas
    return workload.replicas


def _remember_need(state: State, situation: _Situation, pods: int) -> State:
    """Record the need; before the first decision the past need is unknown."""
    now = situation.inputs.now
    window = timedelta(seconds=WINDOW_STARTS * situation.known.start_seconds)
    window = max(situation.config.stabilization, window)
    recent_needs = state.recent_needs or (NeedPoint(now, situation.pods_now.replicas),)
    return replace(state, recent_needs=with_need(recent_needs, NeedPoint(now, pods), window))


def _step(state: State, situation: _Situation, goal: Goal, guard: Guards) -> _Step:
    """Return what to do, depending on whether more or fewer pods are needed than stay."""
    pods_now = situation.pods_now
    if guard.anything is not None:
        move = drains.hold(state.drains, pods_now)
        return _Step(move=move, pods=pods_now.staying, reason=guard.anything)
    if goal.pods > pods_now.staying:
        return _grow(state, situation, goal, guard)
    if guard.removing is not None:
        pods = pods_now.replicas if guard.return_to_work else pods_now.staying
        surplus = goal.pods < pods or guard.removing in SILENT
        reason = guard.removing if surplus else goal.reason
        return _Step(move=drains.grow(state.drains, pods_now, pods), pods=pods, reason=reason)
    recent = goal.pods
    if not goal.empty:
        recent = max(min(highest(state.recent_needs), goal.cap), goal.soon)
    return _shrink(state, situation, goal, recent)


def _grow(state: State, situation: _Situation, goal: Goal, guard: Guards) -> _Step:
    """Return how to get to more pods; pods that are not serving yet are not waited for."""
    pods_now = situation.pods_now
    bounded = limited_scale_up(
        max(goal.pods, pods_now.replicas) if guard.return_to_work else goal.pods,
        here=pods_now.replicas,
        inputs=situation.inputs,
        fleet=situation.fleet,
        scale_ups=state.scale_ups,
        start_seconds=situation.known.start_seconds,
        config=situation.config,
    )
    pods, limited = bounded.pods, (*bounded.limited, *goal.limited)
    reason = goal.reason
    if guard.adding is not None and pods > pods_now.replicas:
        pods, reason = pods_now.replicas, guard.adding
    elif bounded.limited and pods <= pods_now.staying:
        reason = bounded.limited[0]
    move = drains.grow(state.drains, pods_now, pods)
    return _Step(move=move, pods=pods, reason=reason, limited=limited)


def _shrink(state: State, situation: _Situation, goal: Goal, recent: int) -> _Step:
    """Return how to get to fewer pods, or to stay."""
    pods_now = situation.pods_now
    pods = min(max(recent, goal.pods), pods_now.staying)
    drain_max = situation.config.drain_max
    move = removals.shrink(
        state.drains,
        pods_now,
        pods,
        drain_max=drain_max,
        workload=situation.inputs.workload,
    )
    if move.replicas < pods_now.replicas:
        reason = Reason.EMPTY if goal.reason is Reason.EMPTY else Reason.SURPLUS
    elif move.drains.marked:
        reason = Reason.PODS_DRAINING
    elif pods < pods_now.staying and pods_now.removal is Removal.UNKNOWN:
        reason = Reason.POOL_AT_WORK
    elif goal.pods < pods_now.staying:
        reason = Reason.STABILIZING
    else:
        reason = goal.limited[0] if goal.limited else goal.reason
    return _Step(move=move, pods=pods, reason=reason, limited=goal.limited)


def _details(situation: _Situation, goal: Goal) -> Mapping[Reason, str]:
    """Return what limits are, and of scheduled work which schedules' fires it has."""
    details, demand = situation.inputs.details, situation.inputs.demand
    cannot_run = readiness.cannot_run(situation.fleet)
    if cannot_run:
        details = {**details, Reason.PODS_CANNOT_RUN: cannot_run}
    if goal.term is not DemandTerm.SCHEDULED or demand is None:
        return details
    fires = fires_within(demand, situation.known.ahead_seconds + TICK_SECONDS)
    if not fires:
        return details
    jobs = sum(each.jobs for each in fires)
    first = datetime.fromtimestamp(fires[0].at, UTC)
    said = f"of them {jobs} by schedules, from {first:%H:%M:%S} UTC on"
    return {**details, Reason.SCHEDULED_WORK: said}


def _with_write(writers: WriterState, replicas: int, situation: _Situation) -> WriterState:
    """Return what is known once this number of pods has been requested."""
    written = KnownReplicas(
        replicas=replicas,
        version=situation.inputs.workload.version,
        at=situation.inputs.now,
        before=situation.pods_now.replicas,
        uncertain=writers.written.uncertain if writers.written is not None else (),
    )
    return replace(writers, written=written)


def _decision(
    state: State, situation: _Situation, goal: Goal, guard: Guards, step: _Step
) -> Decision:
    """Return the decision; a dry run reports what would be done and remembers nothing of it."""
    now, pods_now, move = situation.inputs.now, situation.pods_now, step.move
    dry = situation.config.dry_run and guard.anything is None
    writes = move.replicas != pods_now.replicas and not dry
    if not dry:
        state = replace(state, drains=move.drains)
    if writes and pods_now.removal is not Removal.BY_THEMSELVES:
        state = replace(state, writers=_with_write(state.writers, move.replicas, situation))
    if writes and move.replicas > pods_now.replicas:
        state = replace(state, scale_ups=(*state.scale_ups, ScaleUp(now, pods_now.replicas)))
    at_zero = (Reason.EMPTY,) if (move.replicas if writes else pods_now.replicas) == 0 else ()
    dry_run = (Reason.DRY_RUN,) if dry else ()
    broken = (Reason.PODS_CANNOT_RUN,) if readiness.cannot_run(situation.fleet) else ()
    causes = (*dry_run, *guard.all, *broken, *step.limited, *at_zero)
    updated = conditions.updated(state.conditions, causes, now)
    return Decision(
        replicas=step.pods,
        scale=move.replicas if writes else None,
        drain=() if dry else move.drain,
        drain_until=now + MARK_DURATION,
        undrain=() if dry else move.undrain,
        reason=Reason.DRY_RUN if dry else step.reason,
        underlying=step.reason,
        limited=step.limited,
        forbidden=guard.all,
        term=goal.term,
        slot_demand=goal.slot_demand,
        details=_details(situation, goal),
        recommended=goal.pods,
        start_seconds=situation.known.start_seconds,
        ahead_seconds=situation.known.ahead_seconds,
        conditions=updated,
        conditions_changed=conditions.has_changed(state.conditions, updated),
        state=replace(state, conditions=updated),
    )
