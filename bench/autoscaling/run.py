"""Run one workload under one controller and compute the figures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf

from bench.autoscaling.controllers import Controller
from bench.autoscaling.fleet import Fleet, Outcome
from bench.figures import percentile

SAMPLED_SECONDS = 5.0
SETTLED_SECONDS = 60.0
"""No decision before this: an empty queue at the start would make each remove pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Shares between 0 and 1, waits in seconds."""

    late_share: float
    wait_p50: float
    wait_p95: float
    wait_p99: float
    wait_max: float
    first_wait: float
    """The longest wait of a job that arrived when there was no pod; 0: there was none."""
    pod_hours: float
    actions: int
    flips: int
    interrupted: int
    wasted_seconds: float
    under: float
    """Missing pods as a share of those needed, on average over time."""
    over: float
    """Superfluous pods as a share of those needed, on average over time."""
    under_time: float
    over_time: float
    """The shares of time with missing and with superfluous pods."""
    instability: float
    """The share of consecutive samples in which need and pods moved differently."""


def run(fleet: Fleet, controller: Controller) -> Figures:
    """Run a workload to its end."""
    tick, sampled, arrived = SETTLED_SECONDS, 0.0, 0
    while fleet.now < fleet.config.seconds:
        fleet.advance(min(tick, sampled, fleet.config.seconds, _woken(fleet, controller)))
        woken = (
            fleet.now >= SETTLED_SECONDS
            and controller.wakes
            and fleet.replicas == 0
            and fleet.arrived > arrived
        )
        arrived = fleet.arrived
        if fleet.now >= sampled:
            fleet.sample()
            sampled += SAMPLED_SECONDS
        if woken or fleet.now >= tick:
            controller.tick(fleet)
            tick = tick + controller.every if fleet.now >= tick else tick
    return figures(fleet)


def figures(fleet: Fleet) -> Figures:
    """Return the figures of a run; an unstarted job waited at least until the end."""
    outcome, objective = fleet.outcome, fleet.config.objective
    unserved = [fleet.now - fleet.jobs[place].due for place in fleet.queue]
    waits = sorted([*outcome.waits, *unserved])
    under, over = _shares(outcome)
    samples = outcome.samples or [(0, 0)]
    steps = [b - a for a, b in pairwise(outcome.scales)]
    return Figures(
        late_share=sum(wait > objective for wait in waits) / max(1, len(waits)),
        wait_p50=percentile(waits, 0.5) if waits else 0.0,
        wait_p95=percentile(waits, 0.95) if waits else 0.0,
        wait_p99=percentile(waits, 0.99) if waits else 0.0,
        wait_max=max(waits, default=0.0),
        first_wait=max(outcome.first_waits, default=0.0),
        pod_hours=outcome.pod_seconds / 3600,
        actions=len(outcome.scales),
        flips=sum(a * b < 0 for a, b in pairwise(steps)),
        interrupted=outcome.interrupted,
        wasted_seconds=outcome.wasted_seconds,
        under=under,
        over=over,
        under_time=sum(there < need for need, there in samples) / len(samples),
        over_time=sum(there > need for need, there in samples) / len(samples),
        instability=_instability(samples),
    )


def _woken(fleet: Fleet, controller: Controller) -> float:
    """Return when the next job arrives at a pool at zero, for controllers that are notified."""
    if not controller.wakes or fleet.replicas > 0 or fleet.arrived >= len(fleet.jobs):
        return inf
    return fleet.jobs[fleet.arrived].due


def _shares(outcome: Outcome) -> tuple[float, float]:
    """Return SPEC's provisioning accuracies, over the times at which pods were needed."""
    needed = [(need, there) for need, there in outcome.samples if need > 0]
    if not needed:
        return 0.0, 0.0
    under = sum(max(need - there, 0) / need for need, there in needed)
    over = sum(max(there - need, 0) / need for need, there in needed)
    return under / len(needed), over / len(needed)


def _instability(samples: list[tuple[int, int]]) -> float:
    """Return SPEC's instability: how often pods and need move in different directions."""
    moves = [
        (_sign(later[0] - former[0]), _sign(later[1] - former[1]))
        for former, later in pairwise(samples)
    ]
    return sum(need != there for need, there in moves) / max(1, len(moves))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
