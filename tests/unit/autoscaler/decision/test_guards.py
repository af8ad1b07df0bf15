"""What forbids to add pods, to take them away, or to do anything."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import State
from tests.support.autoscaling import (
    NOW,
    Cluster,
    demand,
    loads,
    look,
    pods,
    pool,
    seconds,
    workload,
)

BUSY = demand(work=800)
STALE = demand(NOW - seconds(16), work=800)


def rolling(inputs: Inputs) -> Inputs:
    """Return the inputs during a rollout."""
    return replace(inputs, workload=replace(inputs.workload, updated_replicas=0))


def stuck(inputs: Inputs) -> Inputs:
    """Return the inputs during one that makes no progress."""
    deployed = replace(inputs.workload, observed_generation=0, past_deadline=True)
    return replace(inputs, workload=deployed)


def fallen(inputs: Inputs) -> Inputs:
    """Return the inputs while a pod that was ready is not."""
    first, *others = inputs.pods
    return replace(inputs, pods=(replace(first, ready=False), *others))


def unwatched(inputs: Inputs, seconds_ago: float = 16) -> Inputs:
    """Return the inputs while the view of the cluster is stale."""
    return replace(inputs, cluster_at=inputs.now - seconds(seconds_ago))


def silent(inputs: Inputs) -> Inputs:
    """Return the inputs while the database does not answer."""
    return replace(inputs, answered=False)


@pytest.mark.parametrize(
    ("inputs", "given", "reason"),
    [
        (silent(look(10)), {}, Reason.DATABASE_UNREACHABLE),
        (look(10), {"pause": True}, Reason.PAUSED),
        (look(10, STALE), {}, Reason.DEMAND_STALE),
        (replace(look(10), demand=None), {}, Reason.DEMAND_AWAITED),
        (unwatched(look(10)), {}, Reason.CLUSTER_STALE),
        (rolling(look(10)), {}, Reason.ROLLOUT_IN_PROGRESS),
        (stuck(look(10)), {}, Reason.ROLLOUT_STUCK),
        (look(10), {"holdIn": True}, Reason.HELD_IN),
        (fallen(look(10)), {}, Reason.PODS_NOT_READY),
        (look(10), {"dryRun": True}, Reason.DRY_RUN),
    ],
)
def test_a_pool_that_is_not_needed_stays_while_something_forbids_to_shrink_it(
    inputs: Inputs, given: dict[str, object], reason: Reason
) -> None:
    """Not after an hour either; the decision says why."""
    config = pool(**given)
    state = decide(State(), inputs, config).state
    later = replace(inputs, now=NOW + seconds(3600))
    if reason is not Reason.CLUSTER_STALE:
        later = replace(later, cluster_at=later.now)
    if inputs.demand is not None and reason is not Reason.DEMAND_STALE:
        later = replace(later, demand=replace(inputs.demand, at=later.now))
    found = decide(state, later, config)

    assert (None, (), reason) == (found.scale, found.drain, found.reason)


def test_the_same_pool_shrinks_when_nothing_forbids_it() -> None:
    """The table above shows guards, and not a pool that would have stayed anyway."""
    state = decide(State(), look(10), pool()).state
    later = NOW + seconds(3600)
    found = decide(state, replace(look(10, demand(later)), now=later, cluster_at=later), pool())

    assert (0, 10, Reason.PODS_DRAINING) == (found.replicas, len(found.drain), found.reason)


@pytest.mark.parametrize(
    ("inputs", "given", "scale"),
    [
        (look(0, BUSY), {}, 20),
        (silent(look(0, BUSY)), {}, None),
        (look(0, BUSY), {"pause": True}, None),
        (look(0, BUSY), {"holdOut": True}, None),
        (look(0, BUSY), {"dryRun": True}, None),
        (look(0, BUSY), {"holdIn": True}, 20),
        (unwatched(look(2, BUSY)), {}, 10),
        (rolling(look(2, BUSY)), {}, 10),
        (fallen(look(2, BUSY)), {}, 10),
        (look(0, STALE), {}, None),
        (look(0, STALE), {"min": 3}, 3),
        (look(0, STALE), {"fallback": {"replicas": 7, "after": "15s"}}, 7),
        (look(9, STALE), {"fallback": {"replicas": 7, "after": "15s"}}, None),
        (replace(look(0, STALE), pending=True), {}, 1),
        (replace(look(0), demand=None, pending=True), {}, 1),
        (replace(look(1, STALE), pending=True), {}, None),
    ],
)
def test_pods_are_added_unless_that_is_forbidden(
    inputs: Inputs, given: dict[str, object], scale: int | None
) -> None:
    """A stale demand adds what floors ask for, and one pod to a pool at zero that has a job."""
    assert scale == decide(State(), inputs, pool(**given)).scale


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (15.0, None),
        (15.1, Reason.DEMAND_STALE),
        (-5.0, None),
        (-15.1, Reason.DEMAND_STALE),
    ],
)
def test_a_demand_is_stale_after_fifteen_seconds(age: float, expected: Reason | None) -> None:
    """One from far in the future is from before the database's clock was set back."""
    found = decide(State(), look(1, demand(NOW - seconds(age))), pool())

    assert expected == next(iter(found.forbidden), None)


def test_the_fallback_waits_for_a_first_demand_as_long_as_for_a_later_one() -> None:
    """A release that has just begun is not one whose scheduler has gone silent."""
    config = pool(fallback={"replicas": 7, "after": "60s"})
    inputs = replace(look(0), demand=None)
    first = decide(State(), inputs, config)
    scales = [
        decide(first.state, replace(inputs, now=NOW + seconds(after)), config).scale
        for after in (59, 60)
    ]

    assert (Reason.DEMAND_AWAITED, None) == (first.reason, first.scale)
    assert [None, 7] == scales


@pytest.mark.parametrize(("age", "expected"), [(15.0, None), (15.1, Reason.CLUSTER_STALE)])
def test_a_watch_is_stale_after_fifteen_seconds(age: float, expected: Reason | None) -> None:
    """It would not be known which pods are ready by now, or gone."""
    found = decide(State(), unwatched(look(1), age), pool())

    assert expected == next(iter(found.forbidden), None)


def test_draining_pods_stay_there_while_the_view_of_the_cluster_is_stale() -> None:
    """They are not needed; nothing is lowered, and they are no survivors of what was."""
    cluster = Cluster(pool(min=1), look(3), State())
    while not (decision := cluster.tick(demand())).drain:
        assert cluster.inputs.now < NOW + seconds(300)
    emptied = cluster.inputs
    lowered = cluster.tick(demand())
    kept = tuple(each for each in emptied.workers if each.pod_uid not in decision.drain)
    now = emptied.now + seconds(60)
    frozen = replace(emptied, now=now, workers=kept, demand=demand(now))
    found = decide(lowered.state, frozen, cluster.config)

    assert (1, None, Reason.CLUSTER_STALE) == (lowered.scale, found.scale, found.forbidden[0])
    assert (lowered.state.drains.scale_downs, ()) == (
        found.state.drains.scale_downs,
        found.state.drains.spared,
    )


def test_draining_pods_are_returned_to_work_when_the_demand_is_stale() -> None:
    """To empty a pod is to take it away."""
    cluster = Cluster(pool(), look(10), State())
    while not (decision := cluster.tick(demand(work=1), jobs=loads(*[1] * 10))).drain:
        assert cluster.inputs.now < NOW + seconds(300)
    cluster.inputs = replace(
        cluster.inputs, demand=demand(cluster.inputs.now - seconds(20)), loads=()
    )
    found = cluster.tick()

    assert (decision.drain, (), None) == (found.undrain, found.drain, found.scale)


def test_the_mark_of_a_pod_whose_container_starts_again_is_not_renewed_either() -> None:
    """It would inherit the mark, and take no jobs while the need is unknown."""
    cluster = Cluster(pool(), look(2), State())
    while not (decision := cluster.tick(demand(work=1), jobs=loads(1, 1))).drain:
        assert cluster.inputs.now < NOW + seconds(300)
    away = tuple(each for each in cluster.inputs.workers if each.pod_uid not in decision.drain)
    stale = demand(cluster.inputs.now - seconds(20))
    found = decide(
        cluster.state, replace(cluster.inputs, demand=stale, workers=away), cluster.config
    )

    assert ((), ()) == (found.drain, found.state.drains.marked)


def test_draining_pods_stay_there_while_another_one_is_not_ready() -> None:
    """But nothing is lowered: the other one would be deleted first."""
    cluster = Cluster(pool(min=1), look(3), State())
    while not (decision := cluster.tick(demand())).drain:
        assert cluster.inputs.now < NOW + seconds(300)
    (uid,) = {each.uid for each in pods(3)} - {*decision.drain}
    broken = tuple(
        replace(each, ready=each.ready and each.uid != uid) for each in cluster.inputs.pods
    )
    sound, cluster.inputs = cluster.inputs, replace(cluster.inputs, pods=broken)
    found = decide(cluster.state, cluster.inputs, cluster.config)

    assert (decision.drain, None) == (found.drain, found.scale)
    assert 1 == decide(cluster.state, sound, cluster.config).scale


def test_a_dry_run_says_what_would_be_done_and_remembers_nothing_of_it() -> None:
    """Switched on for real, the pool is raised as if for the first time."""
    dry = decide(State(), look(0, BUSY), pool(dryRun=True))
    real = decide(dry.state, look(0, BUSY), pool())

    assert (20, None, Reason.DRY_RUN) == (dry.replicas, dry.scale, dry.reason)
    assert (20, Reason.BACKLOG_DRAIN) == (real.scale, real.reason)


def test_a_rollout_is_over_when_all_pods_are_new_and_its_generation_was_seen() -> None:
    """Fewer pods than asked for are no rollout: they are only not there yet."""
    few = replace(look(3), workload=replace(workload(5), status_replicas=3))
    found = decide(
        State(),
        replace(few, workload=replace(few.workload, updated_replicas=3)),
        pool(),
    )

    assert () == found.forbidden


def test_a_pod_that_was_never_ready_forbids_no_removal() -> None:
    """It starts: it is deleted before every other one, and has nothing to lose."""
    inputs = look(3)
    first, *others = inputs.pods
    starting = replace(first, ready=False, was_ready=False)
    found = decide(State(), replace(inputs, pods=(starting, *others)), pool())

    assert () == found.forbidden


def test_a_lower_cap_empties_no_pod_while_the_demand_is_stale() -> None:
    """Those on their way out are returned to work all the same."""
    cluster = Cluster(pool(max=10), look(10), State())
    cluster.tick(demand(work=2000), jobs=loads(*[1] * 10))
    cluster.config = pool(max=4)
    marked = cluster.tick(demand(work=2000), jobs=loads(*[1] * 10)).drain
    cluster.inputs = replace(cluster.inputs, demand=demand(cluster.inputs.now - seconds(20)))
    found = cluster.tick()

    assert (2, marked, (), None) == (len(marked), found.undrain, found.drain, found.scale)
