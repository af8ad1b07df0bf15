"""Fairlead's own order among the contenders: weights as a policy document."""

from __future__ import annotations

from bench.fairness.weights import Rules, Weights, document
from fairlead.policy import Policy
from fairlead_scheduler.simulation.fair import Fair
from fairlead_scheduler.terms import Table, compiled


class Fairlead(Fair):
    """The fair order with its heads."""

    def __init__(self, weights: Weights, rules: Rules) -> None:
        super().__init__(_table(weights, rules))
        self._rules = rules

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Apply another policy, as a leader does between two looks."""
        self.amend(_table(weights, self._rules), now_us)


def _table(weights: Weights, rules: Rules) -> Table:
    return compiled(Policy.model_validate(document(weights, rules)))
