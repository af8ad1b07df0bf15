"""How a pool gets to fewer pods where its controller does not delete the unready ones first.

A StatefulSet deletes the pod with the highest number. So the pods at the top are drained, in
that order, and `replicas` is lowered by as many of them as are empty without a gap. A pod at
the top with a long job keeps those below it.

Of a kind that is not known any pod may go. So all are drained once none of them runs a job, and
those that stay return to work when the others are gone.

Pods that end by themselves are told to take no job if they have none and are surplus. No number
is written.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

from fairlead_autoscaler.decision import drains as unready_first
from fairlead_autoscaler.decision.drains import (
    DrainMove,
    Drains,
    PodSince,
    PoolPods,
    moved,
    unmarked,
)
from fairlead_autoscaler.decision.fleet import Member
from fairlead_autoscaler.decision.inputs import Workload
from fairlead_autoscaler.decision.scale_downs import ScaleDown
from fairlead_autoscaler.decision.victims import STEP_SHARE
from fairlead_autoscaler.targets import Removal


def shrink(
    drains: Drains, here: PoolPods, pods: int, *, drain_max: timedelta, workload: Workload
) -> DrainMove:
    """Return how to get to fewer pods, or to stay.

    Args:
        drains: What is known.
        here: The pool's pods.
        pods: The target; not more than stay.
        drain_max: How long a pod may take to drain.
        workload: What holds the pods.
    """
    if here.removal is Removal.UNREADY_FIRST:
        return unready_first.shrink(drains, here, pods, drain_max=drain_max)
    if here.removal is Removal.UNKNOWN:
        return _shrink_idle(drains, here, pods)
    if here.removal is Removal.BY_THEMSELVES:
        return _end_idle(drains, here, pods)
    return _shrink_from_top(drains, here, pods, drain_max=drain_max, workload=workload)


def _shrink_from_top(
    drains: Drains, here: PoolPods, pods: int, *, drain_max: timedelta, workload: Workload
) -> DrainMove:
    since = {each.uid: each.at for each in drains.marked}
    slow = [
        each.uid
        for each in here.marked
        if not each.is_drained(here.now) and here.now - since[each.uid] >= drain_max
    ]
    spared = tuple(PodSince(uid, here.now + drain_max) for uid in sorted(slow))
    drains = replace(unmarked(drains, slow), spared=(*drains.spared, *spared))
    count = here.replicas - pods
    if workload.removes_one_by_one:
        count = min(count, 1)
    top = _from_top(drains, here, workload, count)
    gone = _leading_empty(top, here)
    drains = _marked_from_top(drains, here, top)
    members = [each for each in top[:gone] if each is not None]
    scale_down = ScaleDown(
        at=here.now,
        drained=frozenset(each.uid for each in members if each.uid not in here.starting),
        starting=frozenset(each.uid for each in members if each.uid in here.starting),
        given_up=sum(each.uid in here.starting for each in members),
        serving=frozenset(each.uid for each in here.serving),
    )
    if members:
        drains = replace(drains, scale_downs=(*drains.scale_downs, scale_down))
    return moved(drains, here, here.replicas - gone)


def _from_top(
    drains: Drains, here: PoolPods, workload: Workload, count: int
) -> tuple[Member | None, ...]:
    """Return the pods that go next, the first to go first; None: one that is not there.

    The order is fixed, so it ends at a pod that is not chosen again for now.
    """
    numbered = {each.pod.ordinal: each for each in here.members}
    last = workload.first_ordinal + here.replicas - 1
    found: list[Member | None] = []
    for ordinal in range(last, last - count, -1):
        member = numbered.get(ordinal)
        if member is not None and member.uid in drains.spared_uids:
            break
        found.append(member)
    return tuple(found)


def _leading_empty(top: Sequence[Member | None], here: PoolPods) -> int:
    """Return how many pods in a row run nothing, from the first to go."""
    for place, each in enumerate(top):
        # A worker whose pod is not visible may be in the gap.
        empty = not here.unseen if each is None else _runs_nothing(each, here)
        if not empty:
            return place
    return len(top)


def _runs_nothing(member: Member, here: PoolPods) -> bool:
    return member.uid in here.starting or member.is_drained(here.now)


def _marked_from_top(drains: Drains, here: PoolPods, top: Sequence[Member | None]) -> Drains:
    """Return the marks of the pods that go next: idle ones at once, others by a share."""
    working = [each for each in top if each is not None and each.worker is not None]
    marked = {each.uid for each in drains.marked}
    kept = tuple(each for each in drains.marked if each.uid in {one.uid for one in working})
    waiting = [each for each in working if each.uid not in marked]
    idle = next((n for n, each in enumerate(waiting) if each.load.jobs), len(waiting))
    most = max(idle, ceil(STEP_SHARE * len(here.serving)))
    fresh = tuple(PodSince(each.uid, here.now) for each in waiting[:most])
    return replace(drains, marked=(*kept, *fresh))


def _shrink_idle(drains: Drains, here: PoolPods, pods: int) -> DrainMove:
    if len(here.members) > here.replicas:
        # Some of them are about to be deleted, and none is known to be spared.
        return moved(drains, here, here.replicas)
    if pods >= here.replicas or not is_idle(here):
        return moved(replace(drains, marked=()), here, here.replicas)
    since = {each.uid: each.at for each in drains.marked}
    workers = [each for each in here.members if each.worker is not None]
    marks = tuple(PodSince(each.uid, since.get(each.uid, here.now)) for each in workers)
    drains = replace(drains, marked=marks)
    empty = all(_runs_nothing(each, here) for each in here.members) and not here.unseen
    return moved(drains, here, pods if empty else here.replicas)


def is_idle(here: PoolPods) -> bool:
    """Return whether no pod runs a job."""
    return not any(each.load.jobs for each in here.members)


def _end_idle(drains: Drains, here: PoolPods, pods: int) -> DrainMove:
    idle = sorted((each for each in here.serving if not each.load.jobs), key=_age)
    chosen = idle[: max(0, here.staying - pods)]
    fresh = tuple(PodSince(each.uid, here.now) for each in chosen)
    return moved(replace(drains, marked=(*drains.marked, *fresh)), here, here.replicas)


def _age(member: Member) -> tuple[datetime, str]:
    return (member.pod.created_at, member.uid)
