"""Pods that were ready and are not: for how long that keeps every other pod.

The ReplicaSet deletes a pod that is not ready before those that were chosen and emptied. So
none is removed while such a pod may be at work: its worker is alive, as under a kubelet that is
silent, or its container has restarted and is about to be back. A pod without a worker that has
not come back within the time that a start takes runs nothing. It is surplus like a pod that has
not started: the first to go, and no reason to keep the others. A container that crashes again
and again stays so for hours.
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead_autoscaler.decision.fleet import Fleet, Member


@dataclass(frozen=True, slots=True)
class Lost:
    """A pod that is ready no more, and since when that was seen."""

    uid: str
    since: datetime


def observed(lost: tuple[Lost, ...], fleet: Fleet, now: datetime) -> tuple[Lost, ...]:
    """Return the pods that are ready no more; the same look twice changes nothing.

    A new leader begins anew: it takes one start longer to give such a pod up.

    Args:
        lost: Those of the former look.
        fleet: The pods now.
        now: The database's time.
    """
    since = {each.uid: each.since for each in lost}
    return tuple(
        Lost(each.uid, since.get(each.uid, now))
        for each in fleet.members
        if _is_lost(each, now)
    )


def may_return(
    lost: tuple[Lost, ...], fleet: Fleet, now: datetime, start_seconds: float
) -> bool:
    """Return whether one of them may run jobs, or be back within the time of a start."""
    workers = {each.uid for each in fleet.members if each.worker is not None}
    return any(
        each.uid in workers or (now - each.since).total_seconds() < start_seconds
        for each in lost
    )


def cannot_run(fleet: Fleet) -> str:
    """Return how many pods cannot run, and why the first of them; empty: none says so."""
    found = sorted(
        (each.pod.name, each.pod.problem) for each in fleet.members if each.pod.problem
    )
    if not found:
        return ""
    name, problem = found[0]
    return f"{len(found)} of {len(fleet.members)}, such as {name}: {problem}"


def _is_lost(member: Member, now: datetime) -> bool:
    """Return whether a pod that was ready is not, without being empty under a mark."""
    empty = member.is_marked(now) and member.worker and member.worker.drained_at
    return member.pod.was_ready and not member.pod.ready and not empty
