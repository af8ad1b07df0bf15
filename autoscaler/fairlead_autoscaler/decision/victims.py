"""Which pods to drain: those with the least left to do, so that they are empty soonest.

With many slots a pod is rarely idle by chance, so the choice is by remaining work and not by
whether there is any.
"""

from collections.abc import Sequence
from math import ceil

from fairlead_autoscaler.decision.fleet import Member

STEP_SHARE = 0.2
"""At most this share of the serving pods is marked at once."""


def victims(serving: Sequence[Member], count: int) -> tuple[str, ...]:
    """Return the pods to drain, by UID.

    By remaining work, then by the job that is furthest from its end, then the youngest.

    Args:
        serving: Pods that take jobs.
        count: How many are surplus. Idle ones are chosen all at once, others only a fifth of
            the fleet at a time: each tick may choose more.
    """
    ordered = sorted(serving, key=_left)
    idle = sum(each.load.jobs == 0 for each in ordered)
    most = max(idle, ceil(STEP_SHARE * len(ordered)))
    return tuple(each.uid for each in ordered[: max(0, min(count, most))])


def latest_empty(marked: Sequence[Member], count: int) -> tuple[str, ...]:
    """Return the pods to return to work, by UID: those that would be empty last."""
    ordered = sorted(marked, key=_left, reverse=True)
    return tuple(each.uid for each in ordered[: max(0, count)])


def _left(member: Member) -> tuple[float, float, float, str]:
    load, created = member.load, member.pod.created_at.timestamp()
    return (load.slot_seconds, load.longest_seconds, -created, member.uid)
