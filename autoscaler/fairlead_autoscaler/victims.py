"""Which pods go: those with the least left to do, so that they are empty soonest.

With many slots a pod is hardly ever idle by itself, so the choice is by what remains and not by
whether anything does.
"""

from collections.abc import Sequence
from math import ceil

from fairlead_autoscaler.fleet import Member

STEP_SHARE = 0.2
"""Of the pods that take jobs, at most so many are told to empty themselves at once."""


def victims(serving: Sequence[Member], count: int) -> tuple[str, ...]:
    """Return the pods to empty, by UID.

    By the work that is left, then by the job that is longest from its end, then the youngest.

    Args:
        serving: Pods that take jobs.
        count: How many are too many. Of them idle pods go all at once, and others only a fifth
            of the fleet at a time: each tick may choose more.
    """
    ordered = sorted(serving, key=_left)
    idle = sum(each.load.jobs == 0 for each in ordered)
    most = max(idle, ceil(STEP_SHARE * len(ordered)))
    return tuple(each.uid for each in ordered[: max(0, min(count, most))])


def freed(marked: Sequence[Member], count: int) -> tuple[str, ...]:
    """Return the pods to put back to work, by UID: those that would be empty last."""
    ordered = sorted(marked, key=_left, reverse=True)
    return tuple(each.uid for each in ordered[: max(0, count)])


def _left(member: Member) -> tuple[float, float, float, str]:
    load, created = member.load, member.pod.created_at.timestamp()
    return (load.slot_seconds, load.longest_seconds, -created, member.uid)
