"""Weights as a policy, and edits of them while a trace is played."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from fairlead_scheduler.simulation.trace import Lane

Weights = Mapping[Lane, float]
"""Weights of tenants of queues; whoever is not named has 1."""


Rules = Mapping[str, object]
"""The rest of a policy document."""


class Edit(NamedTuple):
    """From when on which weights hold."""

    at_us: int
    weights: Weights
    rules: Rules = MappingProxyType({})


def document(weights: Weights, rules: Rules = MappingProxyType({})) -> dict[str, object]:
    """Return the policy document with these rules that gives tenants these weights.

    Rules for queues take the place of weights: a workload has one of them.
    """
    overrides: dict[str, list[object]] = {}
    for (queue, tenant), weight in weights.items():
        if weight != 1:
            override = {"match": {"tenant": tenant}, "weight": weight}
            overrides.setdefault(queue, []).append(override)
    queues = [
        {"match": {"queue": queue}, "tenants": {"overrides": each}}
        for queue, each in overrides.items()
    ]
    return {"queues": queues, **rules}
