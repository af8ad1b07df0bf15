"""How long a pod takes to start: from the request until its worker registers."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from fairlead_autoscaler.decision.fleet import Fleet

SAMPLES_MAX = 50
_SHARE = 0.9
_ASKED_WITHIN = timedelta(seconds=10)
"""A pod first seen at most this long after a scale-up was created by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupDelays:
    """What was measured so far; pods that waited for a node are left out."""

    seconds: tuple[float, ...] = ()
    """Of the last 50 pods."""
    seeds: tuple[float, ...] = ()
    """Of pods that existed before the watch: two clocks are involved, so these count only until
    one start was measured."""
    known: frozenset[str] = field(default_factory=frozenset[str])
    """Existing pods that were already counted or left out."""
    waited: frozenset[str] = field(default_factory=frozenset[str])
    """Pods that were seen waiting for a node."""

    def delay_seconds(self, prior: timedelta) -> float:
        """Return the 90th percentile; the prior until anything is known."""
        ordered = sorted(self.seconds or self.seeds)
        if not ordered:
            return prior.total_seconds()
        return ordered[ceil(_SHARE * len(ordered)) - 1]


def learned(
    startup_delays: StartupDelays, fleet: Fleet, scaled_up_at: tuple[datetime, ...]
) -> StartupDelays:
    """Return the delays with the pods whose worker has registered since.

    Measured from our own scale-up, which is when the wait began; from when a pod was first seen
    if something else created it; and from its creation if it existed before the watch, since a
    restarted controller has to use what it finds.

    Args:
        startup_delays: The former delays.
        fleet: The pods now.
        scaled_up_at: Our recent scale-ups.
    """
    waited = startup_delays.waited | {
        each.uid for each in fleet.members if each.pod.unschedulable
    }
    seconds, seeds = list(startup_delays.seconds), list(startup_delays.seeds)
    known = {each.uid for each in fleet.members if each.worker is not None}
    for each in fleet.members:
        if each.worker is None or each.uid in startup_delays.known or each.uid in waited:
            continue
        registered, seen = each.worker.registered_at, each.pod.seen_at
        if seen is not None:
            asked = [at for at in scaled_up_at if at <= seen <= at + _ASKED_WITHIN]
            took = registered - max(asked, default=seen)
            seconds.append(max(0.0, took.total_seconds()))
        elif registered > each.pod.created_at:
            seeds.append((registered - each.pod.created_at).total_seconds())
    here = {each.uid for each in fleet.members}
    return replace(
        startup_delays,
        seconds=tuple(seconds[-SAMPLES_MAX:]),
        seeds=tuple(seeds[-SAMPLES_MAX:]),
        known=frozenset(known | (startup_delays.known & here)),
        waited=frozenset(waited & here),
    )
