"""No pod goes under a job, whichever pods the controller of their kind deletes."""

from dataclasses import replace

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.inputs import Inputs, PodLoad
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.decision.stabilization import NeedPoint
from fairlead_autoscaler.targets import parsed
from tests.support.autoscaling import (
    NOW,
    Cluster,
    demand,
    loads,
    look,
    pool,
    seconds,
)

SETTLED = State(recent_needs=(NeedPoint(NOW - seconds(3600), 0),))
STATEFUL, UNKNOWN, JOBS = "statefulsets.v1.apps/w", "fleets.v1.x.dev/w", "podtemplates.v1/w"


def held_by(target: str, count: int, config: Autoscale, *, one_by_one: bool = False) -> Cluster:
    """Return idle pods of a kind, numbered from 0, of which none was needed of late."""
    seen = look(count)
    holds = replace(seen.workload, target=parsed(target), removes_one_by_one=one_by_one)
    return Cluster(config, replace(numbered(seen), workload=holds), SETTLED)


def numbered(seen: Inputs) -> Inputs:
    """Return the same with the numbers of the pods' names."""
    pods = tuple(
        replace(each, ordinal=int(each.uid.removeprefix("pod-"))) for each in seen.pods
    )
    return replace(seen, pods=pods)


def jobs_of(**pods: int) -> tuple[PodLoad, ...]:
    """Return the jobs of some pods, as `pod_3=1`, of a second each."""
    return tuple(
        PodLoad(
            pod_uid=name.replace("_", "-"),
            jobs=count,
            slot_seconds=count * 0.1,
            longest_seconds=0.1,
            long_jobs=0,
        )
        for name, count in pods.items()
    )


def test_the_pods_with_the_highest_numbers_are_emptied_and_removed() -> None:
    """A StatefulSet deletes these, whatever they do."""
    cluster = held_by(STATEFUL, 5, pool(min=2))
    first, second = cluster.tick(demand()), cluster.tick(demand())

    assert (("pod-2", "pod-3", "pod-4"), None) == (first.drain, first.scale)
    assert (2, Reason.SURPLUS) == (second.scale, second.reason)


def test_a_long_job_at_the_top_keeps_the_pods_below_it() -> None:
    """They are empty already; what is removed is the top without a gap."""
    cluster = held_by(STATEFUL, 5, pool(min=2))
    busy = jobs_of(pod_3=1)
    seen = [cluster.tick(demand(), jobs=busy) for _ in range(6)]

    assert [None, 4, None] == [each.scale for each in seen[:3]]
    assert {None} == {each.scale for each in seen[2:]}
    assert ("pod-2", "pod-3") == seen[-1].drain

    assert 2 == next(
        each.scale for each in (cluster.tick(demand()) for _ in range(3)) if each.scale
    )


def test_a_pod_at_the_top_that_does_not_get_empty_returns_to_work_with_those_below() -> None:
    """No other one can be chosen in its place."""
    cluster = held_by(STATEFUL, 3, pool(min=1, drainMax="60s"))
    busy = jobs_of(pod_2=1)
    seen = [cluster.tick(demand(), jobs=busy) for _ in range(13)]

    assert ("pod-1", "pod-2") == seen[11].drain
    assert ((), ("pod-1", "pod-2")) == (seen[12].drain, seen[12].undrain)
    assert {None} == {each.scale for each in seen}


def test_the_pod_with_the_lowest_number_returns_to_work_first() -> None:
    """The marks that stay have to be those at the top."""
    cluster = held_by(STATEFUL, 5, pool(min=1))
    cluster.tick(demand(), jobs=jobs_of(pod_4=1))
    cluster.config = pool(min=3)
    found = cluster.tick(demand(), jobs=jobs_of(pod_4=1))

    assert ("pod-3", "pod-4") == found.drain


def test_a_statefulset_that_waits_for_lower_pods_is_lowered_one_by_one() -> None:
    """With OrderedReady two unready pods at the top would block each other for ever."""
    cluster = held_by(STATEFUL, 4, pool(min=1), one_by_one=True)
    seen = [cluster.tick(demand()) for _ in range(6)]

    assert [("pod-3",), ("pod-2",), ("pod-1",)] == [each.drain for each in seen[::2]]
    assert [3, 2, 1] == [each.scale for each in seen[1::2]]


def test_of_an_unknown_kind_no_pod_goes_while_one_runs_a_job() -> None:
    """It may be the one that is deleted; once all are empty, so many go as are surplus."""
    cluster = held_by(UNKNOWN, 3, pool(min=1))
    busy = cluster.tick(demand(), jobs=loads(1, 0, 0))
    assert ((), None, Reason.POOL_AT_WORK) == (busy.drain, busy.scale, busy.reason)

    marked, lowered = cluster.tick(demand()), cluster.tick(demand())

    assert (("pod-0", "pod-1", "pod-2"), None) == (marked.drain, marked.scale)
    assert 1 == lowered.scale


def test_pods_of_an_unknown_kind_stay_marked_until_the_surplus_is_gone() -> None:
    """Which ones stay is not known before."""
    cluster = held_by(UNKNOWN, 3, pool(min=1))
    for _ in range(2):
        cluster.tick(demand())
    here = replace(cluster.inputs, workload=replace(cluster.inputs.workload, replicas=1))
    pods = tuple(replace(each, ready=False) for each in held_by(UNKNOWN, 3, pool()).inputs.pods)
    cluster.inputs = replace(here, pods=pods)
    still = cluster.tick(demand(), jobs=())

    assert () == still.undrain


def test_idle_pods_of_jobs_are_told_to_end_and_no_number_is_written() -> None:
    """One that runs its job ends by itself."""
    cluster = held_by(JOBS, 4, pool(min=0, slots=1))
    found = cluster.tick(demand(), jobs=jobs_of(pod_1=1))

    assert (("pod-0", "pod-2", "pod-3"), None) == (found.drain, found.scale)


def one_job_each(waiting: int, **given: object) -> Cluster:
    """Return a pool of Jobs without pods, and so many jobs of 8 s that wait."""
    cluster = held_by(JOBS, 0, pool(min=0, slots=1, startPrior="5s", **given))
    return replace_demand(cluster, waiting)


def replace_demand(cluster: Cluster, waiting: int) -> Cluster:
    """Let so many jobs wait."""
    running = sum(each.jobs for each in cluster.inputs.loads)
    rows = demand(work=8.0 * waiting, useful=waiting + running)
    cluster.inputs = replace(cluster.inputs, demand=rows)
    return cluster


def test_jobs_get_a_pod_each_within_their_objective() -> None:
    """A pod takes one job, so that what it takes to start counts for each of them."""
    found = one_job_each(100).tick()

    assert found.scale is not None
    assert 13 * 100 / 30 <= found.scale <= 100
    assert Reason.BACKLOG_DRAIN == found.reason


def test_no_more_pods_are_made_than_there_are_jobs() -> None:
    """Bounds are those of other pools."""
    assert [1, 10] == [one_job_each(1).tick().scale, one_job_each(100, max=10).tick().scale]


def test_a_pod_that_runs_its_job_takes_no_other_one() -> None:
    """However soon it ends, what waits needs a pod of its own."""
    cluster = held_by(JOBS, 2, pool(min=0, slots=1, startPrior="5s"))
    found = replace_demand(cluster, 1).tick()
    busy = held_by(JOBS, 2, pool(min=0, slots=1, startPrior="5s"))
    busy.inputs = replace(busy.inputs, loads=loads(1, 1))
    more = replace_demand(busy, 3).tick()

    assert None is found.scale
    assert more.scale is not None
    assert more.scale > 2


def test_while_jobs_fail_before_a_worker_is_there_one_at_a_time_is_tried() -> None:
    """Otherwise a broken image would make as many at each step as jobs wait."""
    cluster = one_job_each(100)
    failed = tuple(NOW.timestamp() - each for each in (30, 20, 10))
    holds = replace(cluster.inputs.workload, failed_at=failed)
    cluster.inputs = replace(cluster.inputs, workload=holds)
    found = cluster.tick()

    assert (1, (Reason.JOBS_FAIL,)) == (found.scale, found.limited[:1])
