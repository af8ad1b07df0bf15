"""Fairlead's own order among the contenders: weights as a policy document."""

from __future__ import annotations

from collections.abc import Sequence

from bench.fairness.weights import Rules, Weights, document
from fairlead.policy import Policy
from fairlead_scheduler.simulation.fair import Fair
from fairlead_scheduler.simulation.told import known_of_trace, wanted
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.terms import Table, compiled


class Fairlead(Fair):
    """The fair order with its heads.

    Args:
        weights: Those at the start.
        rules: The rest of the policy.
        trace: What is played; keys and rules for single jobs ask it what jobs have.
    """

    def __init__(self, weights: Weights, rules: Rules, trace: Sequence[Arrival] = ()) -> None:
        table = _table(weights, rules)
        asked = wanted({job.queue for job in trace}, (table,))
        if asked is None:
            super().__init__(table)
        else:
            super().__init__(table, jobs=list(trace), known=known_of_trace(trace, asked))
        self._rules = rules

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Apply another policy, as a leader does between two looks."""
        self.amend(_table(weights, self._rules), now_us)


def _table(weights: Weights, rules: Rules) -> Table:
    return compiled(Policy.model_validate(document(weights, rules)))
