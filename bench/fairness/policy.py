"""What takes part: an order of jobs that heeds weights, as far as it can."""

from __future__ import annotations

from typing import Protocol

from bench.fairness.weights import Weights
from fairlead_scheduler.simulation.order import Order


class Policy(Order, Protocol):
    """An order whose weights can be edited while a trace is played."""

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Obey other weights from now on, as far as the policy can."""
        ...
