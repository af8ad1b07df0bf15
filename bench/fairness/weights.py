"""Weights as a policy, and edits of them while a trace is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fairlead_scheduler.simulation.trace import Lane

Weights = Mapping[Lane, float]
"""Weights of tenants of queues; whoever is not named has 1."""


class Edit(NamedTuple):
    """From when on which weights hold."""

    at_us: int
    weights: Weights


def document(weights: Weights) -> dict[str, object]:
    """Return the policy document that gives tenants these weights."""
    overrides: dict[str, list[object]] = {}
    for (queue, tenant), weight in weights.items():
        if weight != 1:
            override = {"match": {"tenant": tenant}, "weight": weight}
            overrides.setdefault(queue, []).append(override)
    rules = [
        {"match": {"queue": queue}, "tenants": {"overrides": each}}
        for queue, each in overrides.items()
    ]
    return {"queues": rules}
