"""The quick form: a few workloads on two tuning seeds, held against lines of its own.

It is for noticing that a change made the decision worse, within a minute; what the targets say
is for the full form. The same code gives the same figures, so its lines stand close to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bench.autoscaling import evaluation
from bench.autoscaling.evaluation import FAIRLEAD, KPA, Row, collected, evaluate
from bench.autoscaling.fault_scenarios import outage
from bench.autoscaling.keda import tuned
from bench.autoscaling.workload import Curve, FleetConfig

SEEDS = (1, 2)
WORKLOADS = ("step", "spike", "zero", "scheduled")
LINES = {
    "pod-hours against KPA, geometric mean": 0.90,
    "the same, worst (zero)": 1.0,
    "their pod-hours against KPA": 0.70,
    "under-provisioned, step, %": 2.5,
    "over-provisioned, step, %": 70.0,
    "changes of replicas against KPA": 0.5,
    "changes of direction against KPA": 0.5,
}
"""Where a line is another one than the target: with two seeds, and what has been reached."""


def rows(config: FleetConfig, curves: Mapping[str, Curve]) -> list[Row]:
    """Return what came of it."""
    chosen = {name: curves[name] for name in WORKLOADS}
    runs = collected(evaluate(config, chosen, tuned(), SEEDS, (FAIRLEAD, KPA)))
    found = [*evaluation.rows(runs, config), *outage(config, curves["ramp"], SEEDS[0])]
    return [replace(row, most=LINES.get(row.what, row.most)) for row in found]
