"""How many pods a pool is to have: one pure function of what was seen and what is remembered.

The controller, the simulator and the fleet on one machine call the same one. Called again with
what it returned and the same look, it asks for no second write.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler import conflicts, drains, fleet, rates, starts, transitions
from fairlead_autoscaler.conflicts import Standing, Written
from fairlead_autoscaler.decision import Decision, State
from fairlead_autoscaler.drains import MARK, Move, Place
from fairlead_autoscaler.fleet import Fleet
from fairlead_autoscaler.goal import Goal, Known, goal, is_empty
from fairlead_autoscaler.guards import SILENT, Guards, guards, stale_seconds
from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.limits import Raise, raised
from fairlead_autoscaler.reasons import Reason
from fairlead_autoscaler.stabilization import Point, most, noted

RAISES_KEPT = timedelta(minutes=10)
WINDOW_STARTS = 2
"""A pool does not shrink within so many start delays: a pod is slow to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look, as the steps of a decision hand it on."""

    inputs: Inputs
    config: Autoscale
    fleet: Fleet
    place: Place
    known: Known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What is done now."""

    move: Move
    pods: int
    reason: Reason
    limited: tuple[Reason, ...] = ()


def decide(state: State, inputs: Inputs, config: Autoscale) -> Decision:
    """Decide on one pool.

    Args:
        state: What the last decision returned; an empty one to begin with.
        inputs: One look at the database and the cluster.
        config: What the policy says of the pool.
    """
    # 1. Learn from what is there.
    state, look = _learned(state, inputs, config)
    # 2. What forbids to do something?
    guarded = guards(inputs, look.fleet, state.standing, look.known.stale_seconds, config)
    # 3. How many pods are needed, and how many were of late?
    sought = goal(look.known, inputs, look.fleet, config)
    state = _remembered(state, look, sought.lasting)
    # 4. What is done about it?
    step = _step(state, look, sought, guarded)
    # 5. What is written, and what is said?
    return _said(state, look, sought, guarded, step)


def _learned(state: State, inputs: Inputs, config: Autoscale) -> tuple[State, _Look]:
    now, demand = inputs.now, inputs.demand
    standing = conflicts.seen(state.standing, inputs)
    here = fleet.of(inputs)
    marks = drains.seen(
        state.drains,
        here,
        now,
        cluster_at=inputs.cluster_at,
        failed_at=_failed_at(state.standing, inputs),
    )
    replicas = _asked(standing.written, inputs)
    learned = starts.learned(state.starts, here, tuple(each.at for each in state.raises))
    start_seconds = learned.delay_seconds(config.start_prior)
    stale = stale_seconds(demand, now)
    rated, empty_since = state.rates, state.empty_since
    if demand is not None and stale is None:
        rated = rates.learned(rated, demand, here.running)
        empty = is_empty(demand, here, start_seconds)
        empty_since = (empty_since or now) if empty else None
    begun_at = state.begun_at or now
    silent = (now - begun_at).total_seconds() if demand is None else stale
    state = replace(
        state,
        begun_at=begun_at,
        rates=rated,
        starts=learned,
        empty_since=empty_since,
        drains=marks,
        standing=standing,
        raises=tuple(each for each in state.raises if now - each.at < RAISES_KEPT),
    )
    known = Known(
        rates=rated,
        start_seconds=start_seconds,
        stale_seconds=stale,
        silent_seconds=silent,
        empty_since=empty_since,
        replicas=replicas,
    )
    look = _Look(
        inputs=inputs,
        config=config,
        fleet=here,
        place=drains.place(marks, here, now, replicas),
        known=known,
    )
    return state, look


def _failed_at(standing: Standing, inputs: Inputs) -> datetime | None:
    """Return when a write was decided of which nothing came, as far as is to be seen."""
    failed = inputs.write_failed and not conflicts.carried_out(standing, inputs)
    return standing.written.at if failed and standing.written is not None else None


def _asked(written: Written | None, inputs: Inputs) -> int:
    """Return what is asked of the Deployment, our own last write included."""
    deployment = inputs.deployment
    if written is not None and written.version == deployment.version:
        return written.replicas
    return deployment.replicas


def _remembered(state: State, look: _Look, pods: int) -> State:
    """Note what is needed; of the time before the first decision nobody knows anything."""
    now = look.inputs.now
    window = timedelta(seconds=WINDOW_STARTS * look.known.start_seconds)
    window = max(look.config.stabilization, window)
    points = state.points or (Point(now, look.place.replicas),)
    return replace(state, points=noted(points, Point(now, pods), window))


def _step(state: State, look: _Look, sought: Goal, guarded: Guards) -> _Step:
    """Return what is done, by whether more or fewer pods are needed than stay."""
    place = look.place
    if guarded.anything is not None:
        move = drains.held(state.drains, place)
        return _Step(move=move, pods=place.staying, reason=guarded.anything)
    if sought.pods > place.staying:
        return _added(state, look, sought, guarded)
    if guarded.taking is not None:
        pods = place.replicas if guarded.returns else place.staying
        surplus = sought.pods < pods or guarded.taking in SILENT
        reason = guarded.taking if surplus else sought.reason
        return _Step(move=drains.grown(state.drains, place, pods), pods=pods, reason=reason)
    recent = sought.pods
    if not sought.empty:
        recent = max(min(most(state.points), sought.cap), sought.soon)
    return _taken(state, look, sought, recent)


def _added(state: State, look: _Look, sought: Goal, guarded: Guards) -> _Step:
    """Return the way to more pods; nothing that is not ready to serve is worth waiting for."""
    place = look.place
    bounded = raised(
        max(sought.pods, place.replicas) if guarded.returns else sought.pods,
        here=place.replicas,
        inputs=look.inputs,
        fleet=look.fleet,
        raises=state.raises,
        start_seconds=look.known.start_seconds,
        config=look.config,
    )
    pods, limited = bounded.pods, (*bounded.limited, *sought.limited)
    reason = sought.reason
    if guarded.adding is not None and pods > place.replicas:
        pods, reason = place.replicas, guarded.adding
    elif bounded.limited and pods <= place.staying:
        reason = bounded.limited[0]
    move = drains.grown(state.drains, place, pods)
    return _Step(move=move, pods=pods, reason=reason, limited=limited)


def _taken(state: State, look: _Look, sought: Goal, recent: int) -> _Step:
    """Return the way to fewer pods, or that of staying."""
    place = look.place
    pods = min(max(recent, sought.pods), place.staying)
    drain_max = look.config.drain_max
    move = drains.shrunk(state.drains, place, pods, drain_max=drain_max)
    if move.replicas < place.replicas:
        reason = Reason.EMPTY if sought.reason is Reason.EMPTY else Reason.SURPLUS
    elif move.drains.marked:
        reason = Reason.PODS_DRAINING
    elif sought.pods < place.staying:
        reason = Reason.STABILIZING
    else:
        reason = sought.limited[0] if sought.limited else sought.reason
    return _Step(move=move, pods=pods, reason=reason, limited=sought.limited)


def _wrote(standing: Standing, replicas: int, look: _Look) -> Standing:
    """Return what is known when so many pods have been asked for."""
    written = Written(
        replicas=replicas,
        version=look.inputs.deployment.version,
        at=look.inputs.now,
        before=look.place.replicas,
        doubtful=standing.written.doubtful if standing.written is not None else (),
    )
    return replace(standing, written=written)


def _said(state: State, look: _Look, sought: Goal, guarded: Guards, step: _Step) -> Decision:
    """Return the decision; a dry run says what would be done, and remembers nothing of it."""
    now, place, move = look.inputs.now, look.place, step.move
    dry = look.config.dry_run and guarded.anything is None
    writes = move.replicas != place.replicas and not dry
    if not dry:
        state = replace(state, drains=move.drains)
    if writes:
        state = replace(state, standing=_wrote(state.standing, move.replicas, look))
    if writes and move.replicas > place.replicas:
        state = replace(state, raises=(*state.raises, Raise(now, place.replicas)))
    at_zero = (Reason.EMPTY,) if (move.replicas if writes else place.replicas) == 0 else ()
    dry_run = (Reason.DRY_RUN,) if dry else ()
    causes = (*dry_run, *guarded.all, *step.limited, *at_zero)
    conditions = transitions.told(state.told, causes, now)
    return Decision(
        replicas=step.pods,
        scale=move.replicas if writes else None,
        drain=() if dry else move.drain,
        drain_until=now + MARK,
        undrain=() if dry else move.undrain,
        reason=Reason.DRY_RUN if dry else step.reason,
        underlying=step.reason,
        limited=step.limited,
        forbidden=guarded.all,
        term=sought.term,
        wanted=sought.wanted,
        recommended=sought.pods,
        start_seconds=look.known.start_seconds,
        conditions=conditions,
        turned=transitions.changed(state.told, conditions),
        state=replace(state, told=conditions),
    )
