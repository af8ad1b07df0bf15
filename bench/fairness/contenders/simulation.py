"""Simulate a trace under a contender's policy, with changes of weights on the way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.fairness.contenders.fairlead import Fairlead
from bench.fairness.contenders.policy import Policy
from bench.fairness.traffic.weights import Edit
from fairlead_scheduler.simulation import engine
from fairlead_scheduler.simulation.engine import JobOutcome, PolicyChange, SimulatedFleet
from fairlead_scheduler.simulation.trace import Arrival


def simulate(
    trace: Sequence[Arrival],
    policy: Policy | Fairlead,
    conditions: SimulatedFleet,
    until_us: int,
    edits: Sequence[Edit] = (),
) -> tuple[JobOutcome, ...]:
    """Simulate a trace and return the outcome of each job, in the trace's order.

    `trace` must be sorted by arrival and `edits` by time.
    """
    changes = [PolicyChange(each.at_us, partial(policy.weigh, each.weights)) for each in edits]
    return engine.simulate(trace, policy, conditions, until_us, changes).jobs
