"""How a pool comes to the pods it needs: pods are put back to work, added, emptied, taken away.

A pod is emptied in two phases. First it is marked: it takes no more jobs, finishes what it runs
and says that it is empty. Then it shows itself not ready, and so is deleted before any other
when `replicas` is lowered, by exactly as many as there are of those. What has not started has
nothing to finish, and the ReplicaSet deletes it even before.

A mark ends when it is not renewed, when more pods are needed (marked ones are put back to work
before any is added), when emptying took too long (another pod is chosen), and when the pod is
still there some time after `replicas` was lowered for it: then another one went in its place.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead_autoscaler.fleet import Fleet, Member
from fairlead_autoscaler.lowerings import Lowering, followed
from fairlead_autoscaler.victims import freed, victims

MARK = timedelta(seconds=60)
"""How long a mark holds unless it is renewed, as each tick does."""


@dataclass(frozen=True, slots=True)
class Since:
    """A pod, and since or until when something is true of it."""

    uid: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Drains:
    """What is known of the pods on their way out."""

    marked: tuple[Since, ...] = ()
    """Since when each is to empty itself."""
    spared: tuple[Since, ...] = ()
    """Until when each is not chosen again, because it did not get empty."""
    lowerings: tuple[Lowering, ...] = ()
    wrong_victims: int = 0
    """Pods at work that were deleted in the place of others, ever since."""

    @property
    def leaving(self) -> frozenset[str]:
        """Pods that `replicas` was lowered for and that may still be there."""
        return frozenset(uid for each in self.lowerings for uid in each.drained)

    @property
    def spared_uids(self) -> frozenset[str]:
        """Pods that are not chosen."""
        return frozenset(each.uid for each in self.spared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What to write: to the database who is to empty itself, to Kubernetes how many pods."""

    replicas: int
    """What is asked of the Deployment; what it has already: nothing is to be written."""
    drain: tuple[str, ...]
    undrain: tuple[str, ...]
    drains: Drains


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the pool is: its pods by what they do, and what is asked of its Deployment."""

    now: datetime
    replicas: int
    serving: tuple[Member, ...]
    marked: tuple[Member, ...]
    starting: frozenset[str]
    """Pods that have not started."""
    unborn: int
    """Those, and pods that are not even made yet."""
    kept: int
    """Pods that are there and neither empty nor without a start: they all need their place."""
    carrying: frozenset[str]
    """Pods that carry a mark and are to be put back to work, unless they are marked anew."""

    @property
    def staying(self) -> int:
        """Pods that there would be if every marked one went."""
        return self.replicas - len(self.marked)


def seen(
    drains: Drains,
    fleet: Fleet,
    now: datetime,
    *,
    cluster_at: datetime,
    failed_at: datetime | None,
) -> Drains:
    """Return what is known after a look; the same look twice changes nothing.

    A new leader takes over the marks that it finds.

    Args:
        drains: As they were.
        fleet: As it is.
        now: The database's time.
        cluster_at: As of when the pods are known: who is still there is not judged before.
        failed_at: When a write was decided that failed; None: none did.
    """
    made = tuple(each for each in drains.lowerings if each.at != failed_at)
    drains = replace(drains, lowerings=made)
    here = {each.uid for each in fleet.members}
    became = followed(drains.lowerings, here, cluster_at)
    spared = (*drains.spared, *(Since(uid, now + MARK) for uid in sorted(became.stayed)))
    spared = tuple(each for each in spared if each.uid in here and each.at > now)
    passed = {each.uid for each in spared}
    since = {each.uid: now for each in fleet.members if each.is_marked(now)}
    since |= {each.uid: each.at for each in drains.marked}
    return replace(
        drains,
        marked=tuple(
            Since(uid, at) for uid, at in since.items() if uid in here and uid not in passed
        ),
        spared=spared,
        lowerings=became.open,
        wrong_victims=drains.wrong_victims + became.wrong,
    )


def place(drains: Drains, fleet: Fleet, now: datetime, replicas: int) -> Place:
    """Sort the pods by what they do."""
    marked_uids = {each.uid for each in drains.marked}
    staying = [each for each in fleet.members if each.uid not in drains.leaving]
    working = [each for each in staying if each.worker is not None]
    serving = tuple(each for each in working if each.uid not in marked_uids)
    marked = tuple(each for each in working if each.uid in marked_uids)
    # A ready pod may run jobs though its worker is cut off, and would not be deleted first.
    starting = {each.uid for each in staying if each.worker is None and not each.pod.ready}
    born = len(staying) - len(starting) + fleet.unseen
    return Place(
        now=now,
        replicas=replicas,
        serving=serving,
        marked=marked,
        starting=frozenset(starting),
        unborn=max(0, replicas - born),
        kept=fleet.unseen + sum(_stays(each, now) for each in fleet.members),
        carrying=frozenset(each.uid for each in working if each.is_marked(now)),
    )


def grown(drains: Drains, here: Place, pods: int) -> Move:
    """Return how to come to more pods, or to stay: put pods back to work, then add the rest."""
    back = freed(here.marked, pods - here.staying)
    added = max(0, pods - here.staying - len(back))
    if pods >= here.replicas:
        # Nor is a mark renewed of a pod whose container starts again: it would inherit it.
        back = tuple(each.uid for each in drains.marked if each.uid not in drains.leaving)
    return _moved(_unmarked(drains, back), here, here.replicas + added)


def shrunk(drains: Drains, here: Place, pods: int, *, drain_max: timedelta) -> Move:
    """Return how to come to fewer pods, or to stay.

    Args:
        drains: What is known.
        here: Where the pool is.
        pods: How many it is to have; not more than stay.
        drain_max: How long a pod may take to empty itself.
    """
    since = {each.uid: each.at for each in drains.marked}
    empty = {each.uid for each in here.marked if each.is_drained(here.now)}
    slow = {
        each.uid
        for each in here.marked
        if each.uid not in empty and here.now - since[each.uid] >= drain_max
    }
    excess = here.staying + len(slow) - pods
    unstarted = max(0, min(excess, here.unborn))
    able = [each for each in here.serving if each.uid not in drains.spared_uids]
    chosen = victims(able, excess - unstarted)
    spared = (Since(uid, here.now + drain_max) for uid in sorted(slow))
    drains = replace(_unmarked(drains, slow), spared=(*drains.spared, *spared))
    drains = replace(drains, marked=(*drains.marked, *(Since(uid, here.now) for uid in chosen)))
    unmade = max(0, here.unborn - len(here.starting))
    lowering = Lowering(
        at=here.now,
        drained=frozenset(empty),
        starting=here.starting,
        given_up=max(0, unstarted - unmade),
        serving=frozenset(each.uid for each in here.serving),
    )
    if lowering.drained or lowering.given_up:
        drains = replace(drains, lowerings=(*drains.lowerings, lowering))
    # What was asked for before may have come true unseen: then there are more pods than are
    # asked for, and some of the empty ones are on their way out already.
    lowered = max(here.replicas - unstarted - len(empty), min(here.replicas, here.kept))
    return _moved(drains, here, lowered)


def held(drains: Drains, here: Place) -> Move:
    """Return how to do nothing: no pod is chosen, and no mark is renewed."""
    return Move(replicas=here.replicas, drain=(), undrain=(), drains=drains)


def _stays(member: Member, now: datetime) -> bool:
    started = member.worker is not None or member.pod.ready
    return started and not member.is_drained(now)


def _unmarked(drains: Drains, uids: Collection[str]) -> Drains:
    kept = tuple(each for each in drains.marked if each.uid not in uids)
    return replace(drains, marked=kept)


def _moved(drains: Drains, here: Place, replicas: int) -> Move:
    marked = frozenset(each.uid for each in drains.marked)
    return Move(
        replicas=replicas,
        drain=tuple(sorted(marked)),
        undrain=tuple(sorted(here.carrying - marked)),
        drains=drains,
    )
