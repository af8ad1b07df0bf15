"""Fairlead's own order as a contender, with the weights as a policy document."""

from __future__ import annotations

from collections.abc import Sequence

from bench.fairness.traffic.weights import Rules, Weights, document
from fairlead.policy import Policy
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.simulation.fair_leader import FairLeader
from fairlead_scheduler.simulation.job_samples import attributes_wanted, sampler_of_trace
from fairlead_scheduler.simulation.trace import Arrival


class Fairlead(FairLeader):
    """The simulated leader with the product's order.

    Args:
        weights: The weights at the start.
        rules: The rest of the policy.
        trace: The simulated trace, from which keys and job rules read attributes.
    """

    def __init__(self, weights: Weights, rules: Rules, trace: Sequence[Arrival] = ()) -> None:
        table = _table(weights, rules)
        wanted = attributes_wanted({job.queue for job in trace}, (table,))
        if wanted is None:
            super().__init__(table)
        else:
            super().__init__(table, jobs=list(trace), sampler=sampler_of_trace(trace, wanted))
        self._rules = rules

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Apply other weights, as a leader does between two ticks."""
        self.apply(_table(weights, self._rules), now_us)


def _table(weights: Weights, rules: Rules) -> CompiledPolicy:
    return compile_policy(Policy.model_validate(document(weights, rules)))
