"""How long a pod takes to start: from being asked for until its worker is there."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from fairlead_autoscaler.fleet import Fleet

SAMPLES_MAX = 50
_SHARE = 0.9
_ASKED_WITHIN = timedelta(seconds=10)
"""A pod was made because of a raise when it was first seen at most so long after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """What was measured so far; pods that waited for a node are left out."""

    seconds: tuple[float, ...] = ()
    """Of the last 50 pods."""
    seeds: tuple[float, ...] = ()
    """Of pods that were there before we looked: two clocks say it, so it counts only until one
    start was measured."""
    known: frozenset[str] = field(default_factory=frozenset[str])
    """Pods that were counted or left out already, of those that are there."""
    waited: frozenset[str] = field(default_factory=frozenset[str])
    """Pods that were seen waiting for a node."""

    def delay_seconds(self, prior: timedelta) -> float:
        """Return what nine of ten pods take at most; the prior until anything is known."""
        ordered = sorted(self.seconds or self.seeds)
        if not ordered:
            return prior.total_seconds()
        return ordered[ceil(_SHARE * len(ordered)) - 1]


def learned(starts: Starts, fleet: Fleet, raised: tuple[datetime, ...]) -> Starts:
    """Return what is known with the pods whose worker has appeared.

    Counted from our own raise, which is when somebody began to wait; from when a pod was first
    seen where another one made it; and from its creation where it was there before we looked,
    as a restarted controller must take all that it finds.

    Args:
        starts: As they were.
        fleet: As it is.
        raised: When we raised the Deployment, of late.
    """
    waited = starts.waited | {each.uid for each in fleet.members if each.pod.unschedulable}
    seconds, seeds = list(starts.seconds), list(starts.seeds)
    known = {each.uid for each in fleet.members if each.worker is not None}
    for each in fleet.members:
        if each.worker is None or each.uid in starts.known or each.uid in waited:
            continue
        registered, seen = each.worker.registered_at, each.pod.seen_at
        if seen is not None:
            asked = [at for at in raised if at <= seen <= at + _ASKED_WITHIN]
            took = registered - max(asked, default=seen)
            seconds.append(max(0.0, took.total_seconds()))
        elif registered > each.pod.created_at:
            seeds.append((registered - each.pod.created_at).total_seconds())
    here = {each.uid for each in fleet.members}
    return replace(
        starts,
        seconds=tuple(seconds[-SAMPLES_MAX:]),
        seeds=tuple(seeds[-SAMPLES_MAX:]),
        known=frozenset(known | (starts.known & here)),
        waited=frozenset(waited & here),
    )
