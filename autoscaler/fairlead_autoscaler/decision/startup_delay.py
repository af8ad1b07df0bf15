"""How long a pod takes to start: from the request until its worker registers."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil

from fairlead_autoscaler.decision.fleet import Fleet
from fairlead_autoscaler.decision.inputs import FIRES_WITHIN_SECONDS, Pod, Worker

SAMPLES_MAX = 50
NODE_SECONDS_MAX = FIRES_WITHIN_SECONDS
"""A pod that waited for longer had no node in the making."""
NODES_KEPT = timedelta(days=8)
"""How long it counts that a node had to be made: until a weekly burst comes again."""
_SHARE = 0.9
_ASKED_WITHIN = timedelta(seconds=10)
"""A pod first seen at most this long after a scale-up was created by it."""


@dataclass(frozen=True, slots=True)
class NodeStart:
    """A start of a pod that waited for a node."""

    at: datetime
    """When it was there."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupDelays:
    """What was measured so far; pods that waited for a node are kept apart."""

    seconds: tuple[float, ...] = ()
    """Of the last 50 pods."""
    seeds: tuple[float, ...] = ()
    """Of pods that existed before the watch: two clocks are involved, so these count only until
    one start was measured."""
    known: frozenset[str] = field(default_factory=frozenset[str])
    """Existing pods that were already counted or left out."""
    waited: frozenset[str] = field(default_factory=frozenset[str])
    """Pods that were seen waiting for a node."""
    nodes: tuple[NodeStart, ...] = ()
    """The last 50 starts of such pods."""

    def delay_seconds(self, prior: timedelta) -> float:
        """Return the 90th percentile; the prior until anything is known."""
        return _most(self.seconds or self.seeds) or prior.total_seconds()

    def ahead_seconds(self, prior: timedelta, now: datetime) -> float:
        """Return how far ahead to ask for pods: so long that a node can be made for them.

        What falls due then is asked for earlier. What waits already is not: a pod that waits
        for a node must not have more pods asked for beside it.
        """
        nodes = [each.seconds for each in self.nodes if now - each.at < NODES_KEPT]
        return max(self.delay_seconds(prior), _most(nodes) or 0.0)


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
    nodes = list(startup_delays.nodes)
    known = {each.uid for each in fleet.members if each.worker is not None}
    for each in fleet.members:
        if each.worker is None or each.uid in startup_delays.known:
            continue
        took = _measured(each.pod, each.worker, scaled_up_at)
        if took is None:
            continue
        if each.uid in waited:
            if took <= NODE_SECONDS_MAX:
                nodes.append(NodeStart(each.worker.registered_at, took))
        elif each.pod.seen_at is not None:
            seconds.append(took)
        else:
            seeds.append(took)
    here = {each.uid for each in fleet.members}
    return replace(
        startup_delays,
        seconds=tuple(seconds[-SAMPLES_MAX:]),
        seeds=tuple(seeds[-SAMPLES_MAX:]),
        nodes=tuple(nodes[-SAMPLES_MAX:]),
        known=frozenset(known | (startup_delays.known & here)),
        waited=frozenset(waited & here),
    )


def _measured(pod: Pod, worker: Worker, scaled_up_at: tuple[datetime, ...]) -> float | None:
    """Return how long a pod took to start; None: its clocks contradict each other."""
    registered, seen = worker.registered_at, pod.seen_at
    if seen is None:
        took = (registered - pod.created_at).total_seconds()
        return took if took > 0 else None
    asked = [at for at in scaled_up_at if at <= seen <= at + _ASKED_WITHIN]
    return max(0.0, (registered - max(asked, default=seen)).total_seconds())


def _most(seconds: Iterable[float]) -> float | None:
    """Return the 90th percentile; None: nothing was measured."""
    ordered = sorted(seconds)
    return ordered[ceil(_SHARE * len(ordered)) - 1] if ordered else None
