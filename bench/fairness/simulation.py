"""Play a trace under a contender's policy, with edits of the weights on the way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.fairness.fairlead import Fairlead
from bench.fairness.policy import Policy
from bench.fairness.weights import Edit
from fairlead_scheduler.simulation import fleet
from fairlead_scheduler.simulation.fleet import Amendment, Fleet, Played
from fairlead_scheduler.simulation.trace import Arrival


def play(
    trace: Sequence[Arrival],
    policy: Policy | Fairlead,
    conditions: Fleet,
    until_us: int,
    edits: Sequence[Edit] = (),
) -> tuple[Played, ...]:
    """Play a trace until then, and return what became of its jobs, in the trace's order.

    `trace` must be in the order of arrivals, and `edits` of weights in that of their times.
    """
    amendments = [Amendment(each.at_us, partial(policy.weigh, each.weights)) for each in edits]
    return fleet.play(trace, policy, conditions, until_us, amendments).jobs
