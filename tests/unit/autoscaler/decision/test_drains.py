"""Pods that are not needed empty themselves, and only then are they removed."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision import drains, fleet
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.drains import MARK_DURATION, Drains, PodSince
from fairlead_autoscaler.decision.fleet import Fleet, remaining_seconds
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import Decision, State
from fairlead_autoscaler.decision.scale_downs import ScaleDown
from fairlead_autoscaler.decision.stabilization import NeedPoint
from fairlead_autoscaler.decision.victims import latest_empty, victims
from tests.support.autoscaling import (
    NOW,
    Cluster,
    demand,
    loads,
    look,
    pool,
    seconds,
    workload,
)

SETTLED = State(recent_needs=(NeedPoint(NOW - seconds(3600), 0),))
"""Of a pool that has not needed anything for long."""


def settled() -> Cluster:
    """Return ten idle pods of which two are needed, and none was of late."""
    return Cluster(pool(min=2), look(10), SETTLED)


def busy(*counts: int) -> Fleet:
    """Return pods that hold so many jobs each."""
    return fleet.of(look(len(counts), jobs=loads(*counts)))


@pytest.mark.parametrize(
    ("age", "spread", "expected"),
    [
        (0, 0.0, 8.0),
        (6, 0.0, 2.0),
        (9, 0.0, 1.0),
        (20, 0.0, 12.0),
        (6, 0.5, 4.0),
        (6, 1.0, 8.0),
        (20, 1.0, 20.0),
        (20, 9.0, 20.0),
        (-5, 1.0, 8.0),
    ],
)
def test_what_a_job_has_left_depends_on_how_spread_run_times_are(
    age: float, spread: float, expected: float
) -> None:
    """Of even ones what is left of the estimate; of uneven ones, an old job is a long one.

    One that has run for longer than the estimate runs on for as long as it has done so.
    """
    assert expected == remaining_seconds(age=age, estimate=8.0, spread=spread)


@pytest.mark.parametrize(
    ("counts", "count", "expected"),
    [
        ((4, 0, 2, 1), 1, ("pod-1",)),
        ((4, 3, 2, 1), 1, ("pod-3",)),
        ((4, 3, 2, 1), 4, ("pod-3",)),  # a fifth of four, and one at least
        ((0, 3, 0, 0), 2, ("pod-0", "pod-2")),
        ((0, 3, 0, 0), 4, ("pod-0", "pod-2", "pod-3")),
        ((1, 1), 0, ()),
        ((1, 1), -3, ()),
        ((), 3, ()),
    ],
)
def test_the_pods_with_the_least_left_to_do_go_first(
    counts: tuple[int, ...], count: int, expected: tuple[str, ...]
) -> None:
    """All idle ones may go at once, others a fifth of the fleet at a time."""
    assert expected == victims(busy(*counts).members, count)


def test_the_pod_that_would_be_empty_last_is_returned_to_work_first() -> None:
    """It is the one that is worth most."""
    assert ("pod-0", "pod-2") == latest_empty(busy(4, 0, 2, 1).members, 2)


def test_a_pod_is_emptied_before_replicas_are_lowered() -> None:
    """Marked, then lowered by exactly the empty ones, then at rest."""
    cluster = settled()
    seen = [cluster.tick(demand()) for _ in range(4)]

    assert [(8, None), (8, 2), (0, None), (0, None)] == [
        (len(each.drain), each.scale) for each in seen
    ]
    assert [Reason.PODS_DRAINING, Reason.SURPLUS, Reason.FLOOR, Reason.FLOOR] == [
        each.reason for each in seen
    ]


def test_a_pod_that_runs_a_job_is_not_removed() -> None:
    """However long it takes within its time: the mark is renewed each tick."""
    cluster = Cluster(pool(min=1), look(2), SETTLED)
    jobs = loads(1, 1, left=0.1)
    seen = [cluster.tick(demand(), jobs=jobs) for _ in range(60)]

    assert [None] * 60 == [each.scale for each in seen]
    assert [("pod-0",)] * 60 == [each.drain for each in seen]
    assert [MARK_DURATION] * 60 == [
        each.drain_until - NOW - seconds(5 * tick) for tick, each in enumerate(seen)
    ]


def test_a_pod_that_does_not_get_empty_is_returned_to_work_and_another_one_chosen() -> None:
    """And it is not chosen again for as long."""
    cluster = Cluster(pool(min=1, drainMax="60s"), look(2), SETTLED)
    jobs = loads(1, 1, left=0.1)
    seen = [cluster.tick(demand(), jobs=jobs) for _ in range(26)]

    assert ("pod-0",) == seen[11].drain
    assert (("pod-1",), ("pod-0",)) == (seen[12].drain, seen[12].undrain)
    assert ("pod-1",) == seen[23].drain
    assert ("pod-0",) == seen[25].drain


def test_a_spared_pod_is_not_chosen_though_it_has_the_least_left() -> None:
    """Until its time is over."""
    inputs = look(2, jobs=loads(0, 1))
    spared = replace(SETTLED, drains=Drains(spared=(PodSince("pod-0", NOW + seconds(1)),)))
    over = replace(SETTLED, drains=Drains(spared=(PodSince("pod-0", NOW),)))
    found = [decide(state, inputs, pool(min=1)).drain for state in (spared, over)]

    assert [("pod-1",), ("pod-0",)] == found


def test_an_empty_pod_that_still_shows_itself_ready_is_not_counted_on() -> None:
    """Only not ready is it deleted before the others."""
    cluster = settled()
    cluster.tick(demand())
    ready = tuple(replace(each, ready=True) for each in cluster.inputs.pods)
    found = decide(cluster.state, replace(cluster.inputs, pods=ready), cluster.config)

    assert (None, 8) == (found.scale, len(found.drain))


def test_draining_pods_are_returned_to_work_before_any_is_added() -> None:
    """They are there already."""
    cluster = settled()
    marked = cluster.tick(demand()).drain
    some = cluster.tick(demand(work=540))
    assert (None, len(marked)) == (some.scale, len(some.undrain))

    more = cluster.tick(demand(work=2000))

    assert (20, ()) == (more.scale, more.undrain)


def test_a_new_leader_takes_over_the_marks_that_it_finds() -> None:
    """They are renewed, and what is empty is removed: the former one had decided that."""
    cluster = settled()
    marked = cluster.tick(demand()).drain
    found = decide(State(), cluster.inputs, cluster.config)

    assert (marked, 2) == (found.drain, found.scale)


def test_a_lapsed_mark_is_none() -> None:
    """The worker takes jobs again: it must not be counted on to be empty."""
    cluster = settled()
    cluster.tick(demand())
    later = cluster.inputs.now + seconds(61)
    lapsed = replace(cluster.inputs, now=later, demand=demand(later))
    found = decide(replace(cluster.state, drains=Drains()), lapsed, cluster.config)

    assert None is found.scale


def test_what_has_not_started_is_given_up_before_any_pod_is_emptied() -> None:
    """It has nothing to finish, and is the first that is deleted."""
    inputs = look(10)
    starting = tuple(replace(each, ready=False, was_ready=False) for each in inputs.pods[7:])
    inputs = replace(inputs, workers=inputs.workers[:7], pods=(*inputs.pods[:7], *starting))
    found = decide(SETTLED, inputs, pool(min=4))

    assert (7, 3) == (found.scale, len(found.drain))


def test_a_ready_pod_whose_worker_is_not_to_be_seen_is_not_given_up() -> None:
    """It may be cut off in the middle of a job, and another pod would be deleted for it."""
    inputs = look(4, jobs=loads(1, 1, 1))
    found = decide(SETTLED, replace(inputs, workers=inputs.workers[:3]), pool(min=1))

    assert None is found.scale


def test_a_pod_that_only_its_worker_shows_is_not_given_up() -> None:
    """The list of pods may be old; a worker's row proves that there is a pod."""
    inputs = look(6, jobs=loads(1, 1, 1, 1, 1, 1))
    found = decide(SETTLED, replace(inputs, pods=inputs.pods[:4]), pool(min=4))

    assert None is found.scale


def test_pods_that_were_never_made_are_given_up_first_of_all() -> None:
    """A quota or a full cluster may keep them from being made."""
    found = decide(SETTLED, replace(look(4), workload=workload(10)), pool(min=4))

    assert (4, ()) == (found.scale, found.drain)


def test_a_pod_that_survives_its_own_removal_is_returned_to_work() -> None:
    """Another one went in its place: that is counted, and its grace protects its jobs."""
    cluster = settled()
    cluster.tick(demand())
    drained = cluster.inputs
    lowered = decide(cluster.state, drained, cluster.config)
    survivor = next(iter(lowered.drain))
    kept = {survivor} | ({each.uid for each in drained.pods} - {*lowered.drain})
    wrong = {min(kept - {survivor})}
    at = drained.now + seconds(10)
    after = replace(
        drained,
        now=at,
        cluster_at=at,
        demand=demand(at),
        workload=workload(2, "2"),
        pods=tuple(each for each in drained.pods if each.uid in kept - wrong),
        workers=tuple(each for each in drained.workers if each.pod_uid in kept - wrong),
    )
    found = decide(lowered.state, after, cluster.config)

    assert ((survivor,), (), None) == (found.undrain, found.drain, found.scale)
    assert 1 == found.state.drains.wrong_victims


def given_up() -> tuple[Decision, Inputs]:
    """Return what was decided when two pods of six had not started and four are needed."""
    inputs = look(6, jobs=loads(1, 1, 1, 1))
    late = tuple(replace(each, ready=False, was_ready=False) for each in inputs.pods[4:])
    inputs = replace(inputs, pods=(*inputs.pods[:4], *late), workers=inputs.workers[:4])
    return decide(SETTLED, inputs, pool(min=4)), inputs


def without(inputs: Inputs, uids: set[str], *, after: float) -> Inputs:
    """Return the inputs some time later, from which pods and their workers are gone."""
    now = inputs.now + seconds(after)
    return replace(
        inputs,
        now=now,
        cluster_at=now,
        demand=demand(now),
        workload=workload(4, "2"),
        pods=tuple(each for each in inputs.pods if each.uid not in uids),
        workers=tuple(each for each in inputs.workers if each.pod_uid not in uids),
    )


def test_a_pod_that_went_in_the_place_of_one_that_started_in_time_is_counted() -> None:
    """It was given up, became ready before it was deleted, and so a pod at work went."""
    lowered, inputs = given_up()
    ready = tuple(replace(each, ready=True, was_ready=True) for each in inputs.pods)
    found = without(replace(inputs, pods=ready), {"pod-2", "pod-5"}, after=10)

    assert 4 == lowered.scale
    assert 1 == decide(lowered.state, found, pool(min=4)).state.drains.wrong_victims


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ({"pod-4", "pod-5"}, 0),  # as it was meant
        ({"pod-2", "pod-4", "pod-5"}, 0),  # and one was evicted
        ({"pod-5"}, 0),  # one stays, and no other pod went in its place
        ({"pod-2", "pod-3"}, 2),
        ({"pod-1", "pod-2", "pod-3"}, 2),
    ],
)
def test_only_a_pod_that_went_for_one_that_stayed_is_a_wrong_victim(
    gone: set[str], expected: int
) -> None:
    """Pods go for other reasons, too: as many as stayed count at most, and they count once."""
    lowered, inputs = given_up()
    first = decide(lowered.state, without(inputs, gone, after=10), pool(min=4))
    again = decide(first.state, without(inputs, gone, after=15), pool(min=4))

    assert [expected] * 2 == [each.state.drains.wrong_victims for each in (first, again)]


def test_a_pod_that_a_later_scale_down_removed_is_no_wrong_victim_of_an_earlier_one() -> None:
    """It was empty: it went for itself."""
    marked = frozenset({"pod-0"})
    later = ScaleDown(at=NOW + seconds(5), drained=frozenset({"pod-1"}))
    earlier = ScaleDown(at=NOW, drained=marked, serving=frozenset({"pod-1", "pod-2"}))
    at = NOW + seconds(10)
    here = fleet.of(without(look(3), {"pod-1"}, after=10))
    found = drains.observed(
        Drains(scale_downs=(earlier, later)), here, at, cluster_at=at, failed_at=None
    )

    assert ((), 0) == (found.scale_downs, found.wrong_victims)


def test_a_scale_down_that_failed_is_repeated() -> None:
    """The pods are empty still."""
    cluster = settled()
    cluster.tick(demand())
    first = decide(cluster.state, cluster.inputs, cluster.config)
    at = cluster.inputs.now + seconds(5)
    failed = replace(
        cluster.inputs,
        now=at,
        demand=demand(at),
        workload=workload(10, "9"),
        write_failed=True,
    )
    again = decide(first.state, failed, cluster.config)

    assert (2, 2) == (first.scale, again.scale)
    assert [at] == [each.at for each in again.state.drains.scale_downs]


def test_a_scale_up_that_failed_forgets_no_scale_down_before_it() -> None:
    """The pods that it was for are not counted as empty ones again."""
    cluster = settled()
    cluster.tick(demand())
    emptied = cluster.inputs
    lowered = decide(cluster.state, emptied, cluster.config)
    at = emptied.now + seconds(5)
    busy = replace(emptied, now=at, demand=demand(at, work=5000), workload=workload(2, "2"))
    grown = decide(lowered.state, busy, cluster.config)
    failed = replace(busy, write_failed=True, workload=workload(2, "3"))
    again = decide(grown.state, failed, cluster.config)

    assert (2, 10, 10) == (lowered.scale, grown.scale, again.scale)
    assert lowered.state.drains.leaving == again.state.drains.leaving


def test_pods_whose_removal_was_asked_for_are_not_counted_again() -> None:
    """They are still there at the next look, and `replicas` is lowered already."""
    cluster = settled()
    cluster.tick(demand())
    emptied = cluster.inputs
    lowered = decide(cluster.state, emptied, cluster.config)
    at = emptied.now + seconds(5)
    lagging = replace(emptied, now=at, demand=demand(at), workload=workload(2, "2"))
    found = decide(lowered.state, lagging, cluster.config)

    assert (2, None, lowered.drain) == (lowered.scale, found.scale, found.drain)


def test_marks_of_pods_that_are_gone_are_forgotten() -> None:
    """Nothing grows with the pods that there ever were."""
    cluster = settled()
    for _ in range(4):
        cluster.tick(demand())

    assert ((), ()) == (cluster.state.drains.marked, cluster.state.drains.scale_downs)
    assert 2 == len(cluster.state.startup_delays.known)


def test_a_mark_keeps_its_age_when_it_is_renewed() -> None:
    """How long a pod takes counts from the first one."""
    cluster = Cluster(pool(min=1), look(2), SETTLED)
    for _ in range(3):
        cluster.tick(demand(), jobs=loads(1, 1))

    assert (PodSince("pod-0", NOW),) == cluster.state.drains.marked


def test_pods_that_a_burst_needed_go_with_its_jobs_and_not_a_minute_later() -> None:
    """It had been known to come, and is not to come again."""
    cluster = Cluster(pool(min=2), look(10), SETTLED)
    cluster.tick(demand(due=[480] * 4))
    kept = [
        len(cluster.tick(demand(total=60, useful=left), jobs=loads(*[left // 10] * 10)).drain)
        for left in (40, 30, 10)
    ]
    gone = cluster.tick(demand(total=60, useful=0))

    assert ([0, 2, 4], 8) == (kept, len(gone.drain))
