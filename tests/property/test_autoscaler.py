"""Invariants: no scale-down on a stale report, no raise beyond a cap, no repeated write."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision import fleet
from fairlead_autoscaler.decision.decide import WINDOW_STARTS, decide
from fairlead_autoscaler.decision.inputs import Demand, Inputs, Pod, PodLoad, Worker, Workload
from fairlead_autoscaler.decision.result import Decision, State
from fairlead_autoscaler.decision.slot_demand import DemandInputs, term_slots
from fairlead_autoscaler.decision.stabilization import NeedPoint
from tests.support.autoscaling import NOW, SLOTS, Cluster, demand, look, pool, seconds

PODS_MAX = 4
LOADED = settings(suppress_health_check=[HealthCheck.too_slow])
"""Drawing examples is slow on a loaded machine; that says nothing of the decision."""
_AMOUNTS = st.one_of(st.just(0.0), st.floats(0, 2000))
_AGES = st.integers(0, 14)
# Made once: a choice that is made for a draw is checked again for each of them.
_PAST = _AGES.map(lambda age: NOW - seconds(age))
_DUE = st.tuples(_AMOUNTS, _AMOUNTS, _AMOUNTS, _AMOUNTS)
_WAITED = st.none() | st.floats(-10, 200)
_VARIANCES = st.sampled_from((0.0, 64.0, 640.0))
_SEEN_AT = st.none() | _PAST
_DRAIN_UNTIL = st.sampled_from((None, NOW + seconds(40)))
_DRAINED_AT = st.sampled_from((None, NOW - seconds(2)))
_CONNECTIONS = st.none() | st.integers(0, 60)
_QUOTAS = st.none() | st.integers(0, 9)
_OBSERVED = st.sampled_from((2, 2, 2, 1))
_OWNERS = st.sampled_from((None, None, None, "kubectl"))
_WARM = st.sampled_from((0, 0, 3))
_STARTING = st.sampled_from((2, 100))


@st.composite
def demands(draw: st.DrawFn, *, oldest: int = 14) -> Demand:
    """Draw a pool's demand, reported at most this many seconds ago."""
    work = draw(_AMOUNTS)
    due = sorted(draw(_DUE))
    row = demand(
        work=work,
        waited=draw(_WAITED),
        total=draw(st.integers(0, 1000)),
        useful=draw(st.integers(0, 400)),
        due=due,
        variance=draw(_VARIANCES),
    )
    return replace(row, at=NOW - seconds(draw(st.integers(-2, oldest))))


@st.composite
def looks(draw: st.DrawFn, *, oldest: int = 14) -> Inputs:
    """Draw any observation of a pool, however odd."""
    uids = [f"pod-{place}" for place in range(draw(st.integers(0, PODS_MAX)))]
    pods = tuple(
        Pod(
            uid=uid,
            created_at=NOW - seconds(draw(st.integers(-60, 99))),
            seen_at=draw(_SEEN_AT),
            ready=draw(st.booleans()),
            was_ready=draw(st.booleans()),
            terminating=draw(st.integers(0, 9)) == 0,
            unschedulable=draw(st.integers(0, 9)) == 0,
        )
        for uid in uids
    )
    workers = tuple(
        Worker(
            pod_uid=uid,
            slots_full=SLOTS,
            registered_at=draw(_PAST),
            drain_until=draw(_DRAIN_UNTIL),
            drained_at=draw(_DRAINED_AT),
        )
        for uid in uids
        if draw(st.integers(0, 4)) > 0
    )
    loads = tuple(
        PodLoad(
            pod_uid=worker.pod_uid,
            jobs=draw(st.integers(1, SLOTS)),
            slot_seconds=draw(st.floats(0, 400)),
            longest_seconds=draw(st.floats(0, 100)),
            long_jobs=draw(st.integers(0, SLOTS)),
        )
        for worker in workers
        if worker.drained_at is None and draw(st.booleans())
    )
    return Inputs(
        now=NOW,
        answered=True,
        cluster_at=draw(_PAST),
        demand=draw(demands(oldest=oldest)) if draw(st.integers(0, 9)) else None,
        workload=draw(workloads()),
        pods=pods,
        workers=workers,
        loads=loads,
        pending=draw(st.booleans()),
        connections=draw(_CONNECTIONS),
        quota_pods_max=draw(_QUOTAS),
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Draw a Deployment, at rest or in the middle of a rollout."""
    pods, replicas = draw(st.integers(0, PODS_MAX)), draw(st.integers(0, PODS_MAX))
    return Workload(
        name="release-worker-default",
        uid="uid-release-worker-default",
        replicas=replicas,
        # One version of it has one number of replicas.
        version=f"{draw(st.integers(1, 3))}-{replicas}",
        generation=2,
        observed_generation=draw(_OBSERVED),
        status_replicas=pods,
        updated_replicas=pods if draw(st.integers(0, 2)) else 0,
        owner=draw(_OWNERS),
    )


@st.composite
def pools(draw: st.DrawFn) -> Autoscale:
    """Draw a pool's configuration."""
    most = draw(st.integers(1, 20))
    given: dict[str, object] = {
        "min": draw(st.integers(0, most)),
        "max": most,
        "warmSlots": draw(_WARM),
        "startingMax": draw(_STARTING),
        "holdIn": draw(st.integers(0, 9)) == 0,
        "holdOut": draw(st.integers(0, 9)) == 0,
        "dryRun": draw(st.integers(0, 9)) == 0,
    }
    if draw(st.booleans()):
        given["fallback"] = {"replicas": draw(st.integers(1, 20)), "after": "15s"}
    if draw(st.booleans()):
        given["cost"] = {"podHour": 1, "hourMax": draw(st.integers(0, 20))}
    return pool(**given)


@st.composite
def stories(draw: st.DrawFn) -> tuple[State, Inputs, Autoscale]:
    """Draw a state that some observations have led to, the next observation, and a pool."""
    config, state = draw(pools()), State()
    for tick in range(draw(st.integers(0, 2)), 0, -1):
        inputs = draw(looks())
        state = decide(state, replace(inputs, now=NOW - tick * seconds(60)), config).state
    return state, draw(looks(oldest=60)), config


def lowers(inputs: Inputs, decision: Decision) -> bool:
    """Return whether a decision reduces capacity, now or in a moment."""
    marked = {each.uid for each in fleet.of(inputs).members if each.is_marked(inputs.now)}
    marked |= decision.state.drains.leaving
    fewer = decision.scale is not None and decision.scale < inputs.workload.replicas
    return fewer or not set(decision.drain) <= marked


def cap(config: Autoscale) -> int:
    """Return the most pods that a pool may have."""
    return config.max if config.cost is None else min(config.max, int(config.cost.hour_max))


@LOADED
@given(stories())
def test_the_same_look_twice_makes_one_write(
    story: tuple[State, Inputs, Autoscale],
) -> None:
    """A set replica count is not set again, and the same pods stay marked."""
    state, inputs, config = story
    first = decide(state, inputs, config)
    again = decide(first.state, inputs, config)

    assert None is again.scale
    assert (first.drain, first.undrain) == (again.drain, again.undrain)


@LOADED
@given(stories(), st.integers(16, 10_000), st.booleans())
def test_a_stale_word_lowers_nothing(
    story: tuple[State, Inputs, Autoscale],
    age: int,
    answered: bool,  # noqa: FBT001 - drawn, not called with a literal
) -> None:
    """Nor does a database that does not answer, or a scheduler that never spoke."""
    state, inputs, config = story
    row = inputs.demand and replace(inputs.demand, at=NOW - seconds(age))

    assert not lowers(
        inputs, decide(state, replace(inputs, demand=row, answered=answered), config)
    )


@LOADED
@given(stories())
def test_nothing_is_lowered_while_a_rollout_runs(
    story: tuple[State, Inputs, Autoscale],
) -> None:
    """The Deployment would remove pods of both ReplicaSets, whichever pods were chosen."""
    state, inputs, config = story
    workload = replace(inputs.workload, updated_replicas=0, status_replicas=1)

    assert not lowers(inputs, decide(state, replace(inputs, workload=workload), config))


@LOADED
@given(stories())
def test_no_raise_goes_beyond_a_cap(story: tuple[State, Inputs, Autoscale]) -> None:
    """Of pods, of cost, of connections and of the quota."""
    state, inputs, config = story
    decision = decide(state, inputs, config)
    here = inputs.workload.replicas
    if decision.scale is None or decision.scale <= here:
        return

    assert decision.scale <= cap(config)
    if inputs.connections is not None:
        gone = sum(each.terminating for each in inputs.pods)
        held = (decision.scale + gone) * config.connections_per_pod
        assert held <= inputs.connections
    if inputs.quota_pods_max is not None:
        gone = sum(each.terminating for each in inputs.pods)
        assert decision.scale + gone <= inputs.quota_pods_max


@LOADED
@given(looks(), pools())
def test_replicas_are_lowered_by_the_empty_pods_and_what_never_started(
    inputs: Inputs, config: Autoscale
) -> None:
    """So that no pod with a worker goes that has not said it is empty."""
    state = State(recent_needs=(NeedPoint(NOW - seconds(3600), 0),))
    decision = decide(state, inputs, config)
    replicas = inputs.workload.replicas
    if decision.scale is None or decision.scale >= replicas:
        return
    here = fleet.of(inputs)
    empty = sum(each.is_drained(NOW) for each in here.members if each.uid in decision.drain)
    born = sum(each.worker is not None or each.pod.ready for each in here.members)
    unborn = max(0, replicas - born - here.unseen)

    assert replicas - decision.scale <= empty + unborn


@LOADED
@given(stories())
def test_what_is_left_of_replicas_has_room_for_every_pod_at_work(
    story: tuple[State, Inputs, Autoscale],
) -> None:
    """Only empty pods are removed, whatever was written before."""
    state, inputs, config = story
    decision = decide(state, inputs, config)
    replicas = inputs.workload.replicas
    if decision.scale is None or decision.scale >= replicas:
        return
    here = fleet.of(inputs)
    at_work = here.unseen + sum(
        (each.worker is not None or each.pod.ready) and not each.is_drained(NOW)
        for each in here.members
    )

    assert decision.scale >= min(at_work, replicas)


@LOADED
@given(stories())
def test_no_pod_is_both_to_empty_itself_and_to_go_back_to_work(
    story: tuple[State, Inputs, Autoscale],
) -> None:
    """And both are there."""
    state, inputs, config = story
    decision = decide(state, inputs, config)
    here = {each.uid for each in fleet.of(inputs).members}

    assert set() == set(decision.drain) & set(decision.undrain)
    assert set(decision.drain) | set(decision.undrain) <= here


@LOADED
@given(stories())
def test_a_paused_pool_is_left_alone(story: tuple[State, Inputs, Autoscale]) -> None:
    """As is one whose database does not answer."""
    state, inputs, config = story
    paused = config.model_copy(update={"pause": True})
    found = (
        decide(state, inputs, paused),
        decide(state, replace(inputs, answered=False), config),
    )

    assert [(None, (), ())] * 2 == [(each.scale, each.drain, each.undrain) for each in found]


@LOADED
@given(looks(), pools(), st.floats(1, 5000))
def test_more_work_never_asks_for_fewer_pods(
    inputs: Inputs, config: Autoscale, more: float
) -> None:
    """All else being equal."""
    row = inputs.demand or demand()
    busier = replace(row, work_slot_seconds=row.work_slot_seconds + more)
    recommended = [
        decide(State(), replace(inputs, demand=each), config).recommended
        for each in (row, busier)
    ]

    assert recommended == sorted(recommended)


@LOADED
@given(_AMOUNTS, st.floats(0, 99), st.floats(0, 9), st.integers(1, 40))
def test_a_slot_that_does_not_come_free_never_asks_for_fewer(
    work: float, waited: float, rate: float, serving: int
) -> None:
    """All else being equal; when none does, what waits has slots beside all of them."""
    found = [
        term_slots(
            demand(work=work, waited=waited),
            DemandInputs(
                now=NOW,
                arrival_rate=rate,
                due_jobs=0.0,
                rising=False,
                start_seconds=10.0,
                ahead_seconds=10.0,
                serving_slots=serving,
                held_slots=held,
                running=serving,
                slots_max=1000,
            ),
            pool(),
        ).drain
        for held in range(serving + 1)
    ]

    assert found == sorted(found)
    assert work < 1 or found[-1] > serving


@LOADED
@given(st.lists(st.tuples(_AMOUNTS, st.integers(0, 40)), min_size=2, max_size=40))
def test_no_pod_is_told_to_go_within_the_window_after_a_raise(
    ticks: list[tuple[float, int]],
) -> None:
    """A pool does not flap: what was needed a moment ago may be needed again."""
    config = pool(keep="1h", startPrior="10s")
    cluster = Cluster(config, look(2), State())
    raised_at, total = NOW - timedelta(days=1), 0
    for work, came in ticks:
        total += came
        now = cluster.inputs.now
        before = {each.uid for each in cluster.state.drains.marked}
        decision = cluster.tick(demand(now, work=work, total=total))
        window = max(config.stabilization.total_seconds(), WINDOW_STARTS * 10.0)
        if now - raised_at < seconds(window):
            assert set(decision.drain) <= before
        if decision.scale is not None and decision.replicas > len(before):
            raised = decision.state.scale_ups and decision.state.scale_ups[-1].at == now
            raised_at = now if raised else raised_at
