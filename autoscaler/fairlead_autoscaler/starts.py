"""How long a pod takes to start: from being asked for until its worker is there."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from fairlead_autoscaler.fleet import Fleet

SAMPLES_MAX = 50
_SHARE = 0.9
_ASKED_WITHIN = timedelta(seconds=10)
"""A pod was made because of a raise when it was created at most so long after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """What was measured so far; pods that waited for a node are left out."""

    seconds: tuple[float, ...] = ()
    """Of the last 50 pods."""
    known: frozenset[str] = field(default_factory=frozenset[str])
    """Pods that were counted or left out already, of those that are there."""
    waited: frozenset[str] = field(default_factory=frozenset[str])
    """Pods that were seen waiting for a node."""

    def delay_seconds(self, prior: timedelta) -> float:
        """Return what nine of ten pods take at most; the prior until one was measured."""
        if not self.seconds:
            return prior.total_seconds()
        ordered = sorted(self.seconds)
        return ordered[ceil(_SHARE * len(ordered)) - 1]


def learned(starts: Starts, fleet: Fleet, raised: tuple[datetime, ...]) -> Starts:
    """Return what is known with the pods whose worker has appeared.

    Counted from our own raise, which is when somebody began to wait; from the pod's creation
    where another one made it, as a restarted controller must take all that it finds.

    Args:
        starts: As they were.
        fleet: As it is.
        raised: When we raised the Deployment, of late.
    """
    waited = starts.waited | {each.uid for each in fleet.members if each.pod.unschedulable}
    seconds = list(starts.seconds)
    known = {each.uid for each in fleet.members if each.worker is not None}
    for each in fleet.members:
        if each.worker is None or each.uid in starts.known or each.uid in waited:
            continue
        created = each.pod.created_at
        asked = [at for at in raised if at <= created <= at + _ASKED_WITHIN]
        begun = max(asked, default=created)
        seconds.append(max(0.0, (each.worker.registered_at - begun).total_seconds()))
    here = {each.uid for each in fleet.members}
    return replace(
        starts,
        seconds=tuple(seconds[-SAMPLES_MAX:]),
        known=frozenset(known | (starts.known & here)),
        waited=frozenset(waited & here),
    )
