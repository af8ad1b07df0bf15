"""Weights as a policy, and edits of them during a run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from fairlead_scheduler.simulation.trace import Lane

Weights = Mapping[Lane, float]
"""Weights of tenants of queues; the default is 1."""


Rules = Mapping[str, object]
"""The rest of a policy document."""


class Edit(NamedTuple):
    """The weights that apply from a moment on."""

    at_us: int
    weights: Weights
    rules: Rules = MappingProxyType({})


def document(weights: Weights, rules: Rules = MappingProxyType({})) -> dict[str, object]:
    """Return the policy document with these weights and rules.

    Rules for queues replace weights: a workload has one of them.
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
