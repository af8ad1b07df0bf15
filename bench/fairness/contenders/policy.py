"""A contender: an order of jobs that applies weights, as far as it can."""

from __future__ import annotations

from typing import Protocol

from bench.fairness.traffic.weights import Weights
from fairlead_scheduler.simulation.interface import SimulatedOrder


class Policy(SimulatedOrder, Protocol):
    """An order whose weights can be edited during a run."""

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Apply other weights from now on, as far as the policy can."""
        ...
