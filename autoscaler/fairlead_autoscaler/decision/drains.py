"""How a pool gets to the pods it needs: return draining pods to work, add, drain, remove.

A pod is drained in two phases. First it gets a drain mark: it takes no more jobs, finishes what
it runs and reports that it is empty. Then it becomes not ready, so the ReplicaSet deletes it
first when `replicas` is lowered by exactly the number of such pods. A pod that has not started
has nothing to finish, and the ReplicaSet deletes it even before those.

A mark ends when it is not renewed, when more pods are needed (marked pods return to work before
any is added), when draining took too long (another pod is chosen), and when the pod is still
there some time after `replicas` was lowered for it: then another pod was deleted in its place.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead_autoscaler.decision.fleet import Fleet, Member
from fairlead_autoscaler.decision.scale_downs import ScaleDown, settle
from fairlead_autoscaler.decision.victims import latest_empty, victims
from fairlead_autoscaler.targets import Removal

MARK_DURATION = timedelta(seconds=60)
"""How long a drain mark holds unless it is renewed, as every tick does."""


@dataclass(frozen=True, slots=True)
class PodSince:
    """A pod, and the time since or until which something applies to it."""

    uid: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Drains:
    """What is known of the pods that are draining or being removed."""

    marked: tuple[PodSince, ...] = ()
    """Pods with a drain mark, and since when."""
    spared: tuple[PodSince, ...] = ()
    """Pods that are not chosen again, and until when, because they did not get empty."""
    scale_downs: tuple[ScaleDown, ...] = ()
    wrong_victims: int = 0
    """Working pods that were deleted in place of others, in total."""

    @property
    def leaving(self) -> frozenset[str]:
        """Pods that `replicas` was lowered for and that may still be there."""
        return frozenset(uid for each in self.scale_downs for uid in each.drained)

    @property
    def spared_uids(self) -> frozenset[str]:
        """Pods that are not chosen."""
        return frozenset(each.uid for each in self.spared)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainMove:
    """What to write: drain marks to the database, `replicas` to Kubernetes."""

    replicas: int
    """Requested replicas; equal to the present ones: nothing is to be written."""
    drain: tuple[str, ...]
    undrain: tuple[str, ...]
    drains: Drains


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPods:
    """The pool's pods by what they do, and the replicas requested of its workload."""

    now: datetime
    replicas: int
    serving: tuple[Member, ...]
    marked: tuple[Member, ...]
    starting: frozenset[str]
    """Pods that exist and have not started."""
    not_started: int
    """Those, plus pods that are not even created yet."""
    kept: int
    """Pods that have started and are not empty: `replicas` must leave room for each."""
    carrying: frozenset[str]
    """Pods that carry a mark and return to work unless they are marked again."""
    members: tuple[Member, ...]
    """All pods but those that are already on their way out."""
    unseen: int
    """Workers whose pod is not visible."""
    removal: Removal
    """Which pods go when fewer are asked for."""

    @property
    def staying(self) -> int:
        """Pods that would be left if every marked one went.

        Where any pod may be the one that goes, all of them are marked and most of them stay.
        """
        if self.removal is Removal.UNKNOWN:
            return self.replicas
        return self.replicas - len(self.marked)


def observed(
    drains: Drains,
    fleet: Fleet,
    now: datetime,
    *,
    cluster_at: datetime,
    failed_at: datetime | None,
) -> Drains:
    """Return what is known after one reading; the same reading twice changes nothing.

    A new leader adopts the marks that it finds.

    Args:
        drains: The former knowledge.
        fleet: The pods now.
        now: The database's time.
        cluster_at: As of when the pods are known: whether a pod stayed is not decided before.
        failed_at: When a write was decided that failed; None: none did.
    """
    made = tuple(each for each in drains.scale_downs if each.at != failed_at)
    drains = replace(drains, scale_downs=made)
    here = {each.uid for each in fleet.members}
    became = settle(drains.scale_downs, here, cluster_at)
    spared = (
        *drains.spared,
        *(PodSince(uid, now + MARK_DURATION) for uid in sorted(became.stayed)),
    )
    spared = tuple(each for each in spared if each.uid in here and each.at > now)
    passed = {each.uid for each in spared}
    since = {each.uid: now for each in fleet.members if each.is_marked(now)}
    since |= {each.uid: each.at for each in drains.marked}
    return replace(
        drains,
        marked=tuple(
            PodSince(uid, at) for uid, at in since.items() if uid in here and uid not in passed
        ),
        spared=spared,
        scale_downs=became.open,
        wrong_victims=drains.wrong_victims + became.wrong,
    )


def sorted_pods(
    drains: Drains, fleet: Fleet, now: datetime, replicas: int, removal: Removal
) -> PoolPods:
    """Sort the pods by what they do."""
    marked_uids = {each.uid for each in drains.marked}
    staying = [each for each in fleet.members if each.uid not in drains.leaving]
    working = [each for each in staying if each.worker is not None]
    serving = tuple(each for each in working if each.uid not in marked_uids)
    marked = tuple(each for each in working if each.uid in marked_uids)
    # A ready pod may run jobs although its worker is cut off; it would not be deleted first.
    starting = {each.uid for each in staying if each.worker is None and not each.pod.ready}
    born = len(staying) - len(starting) + fleet.unseen
    return PoolPods(
        now=now,
        replicas=replicas,
        serving=serving,
        marked=marked,
        starting=frozenset(starting),
        not_started=max(0, replicas - born),
        kept=fleet.unseen + sum(_is_staying(each, now) for each in fleet.members),
        carrying=frozenset(each.uid for each in working if each.is_marked(now)),
        members=tuple(staying),
        unseen=fleet.unseen,
        removal=removal,
    )


def grow(drains: Drains, here: PoolPods, pods: int) -> DrainMove:
    """Return how to get to more pods, or to stay.

    Marked pods return to work first, then the rest is added.
    """
    back = _first_back(here, pods - here.staying)
    if here.removal is Removal.UNKNOWN and len(here.members) > here.replicas:
        # Some of them are about to be deleted, and none is known to be spared.
        return moved(drains, here, max(pods, here.replicas))
    added = max(0, pods - here.staying - len(back))
    if pods >= here.replicas:
        # Drop the marks of restarting containers, too: the new worker would inherit them.
        back = tuple(each.uid for each in drains.marked if each.uid not in drains.leaving)
    return moved(unmarked(drains, back), here, here.replicas + added)


def _first_back(here: PoolPods, count: int) -> tuple[str, ...]:
    """Return the pods to return to work: those that would be gone last."""
    if here.removal is Removal.LAST_FIRST:
        ordered = sorted(here.marked, key=lambda each: each.pod.ordinal or 0)
        return tuple(each.uid for each in ordered[: max(0, count)])
    return latest_empty(here.marked, count)


def shrink(drains: Drains, here: PoolPods, pods: int, *, drain_max: timedelta) -> DrainMove:
    """Return how to get to fewer pods, or to stay.

    Args:
        drains: What is known.
        here: The pool's pods.
        pods: The target; not more than stay.
        drain_max: How long a pod may take to drain.
    """
    since = {each.uid: each.at for each in drains.marked}
    empty = {each.uid for each in here.marked if each.is_drained(here.now)}
    slow = {
        each.uid
        for each in here.marked
        if each.uid not in empty and here.now - since[each.uid] >= drain_max
    }
    excess = here.staying + len(slow) - pods
    unstarted = max(0, min(excess, here.not_started))
    able = [each for each in here.serving if each.uid not in drains.spared_uids]
    chosen = victims(able, excess - unstarted)
    spared = (PodSince(uid, here.now + drain_max) for uid in sorted(slow))
    drains = replace(unmarked(drains, slow), spared=(*drains.spared, *spared))
    drains = replace(
        drains, marked=(*drains.marked, *(PodSince(uid, here.now) for uid in chosen))
    )
    not_created = max(0, here.not_started - len(here.starting))
    scale_down = ScaleDown(
        at=here.now,
        drained=frozenset(empty),
        starting=here.starting,
        given_up=max(0, unstarted - not_created),
        serving=frozenset(each.uid for each in here.serving),
    )
    if scale_down.drained or scale_down.given_up:
        drains = replace(drains, scale_downs=(*drains.scale_downs, scale_down))
    # An earlier request may have taken effect unseen: then there are more pods than are
    # requested, and some of the empty ones are already terminating.
    lowered = max(here.replicas - unstarted - len(empty), min(here.replicas, here.kept))
    return moved(drains, here, lowered)


def hold(drains: Drains, here: PoolPods) -> DrainMove:
    """Return how to do nothing: no pod is chosen, and no mark is renewed."""
    return DrainMove(replicas=here.replicas, drain=(), undrain=(), drains=drains)


def _is_staying(member: Member, now: datetime) -> bool:
    started = member.worker is not None or member.pod.ready
    return started and not member.is_drained(now)


def unmarked(drains: Drains, uids: Collection[str]) -> Drains:
    """Return what is known once these marks are dropped."""
    kept = tuple(each for each in drains.marked if each.uid not in uids)
    return replace(drains, marked=kept)


def moved(drains: Drains, here: PoolPods, replicas: int) -> DrainMove:
    """Return what to write to have these marks and so many replicas."""
    marked = frozenset(each.uid for each in drains.marked)
    return DrainMove(
        replicas=replicas,
        drain=tuple(sorted(marked)),
        undrain=tuple(sorted(here.carrying - marked)),
        drains=drains,
    )
