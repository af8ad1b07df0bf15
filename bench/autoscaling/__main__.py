"""`python -m bench.autoscaling`: tables of targets and measurements.

T1 to T6 are simulated, and the same seeds give the same tables on every machine; what no
simulation can measure comes from `elsewhere.toml`. Exit code 0 whatever the result; with
`--strict` 1 for a missed simulated target.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from bench.autoscaling import elsewhere, keda, quick
from bench.autoscaling import record as tables
from bench.autoscaling.evaluation import Row, Runs, collected, evaluate, rows
from bench.autoscaling.fault_scenarios import compare, fault_scenarios, outage
from bench.autoscaling.workload import Curve, FleetConfig, load
from bench.context import say

FIRST_SEED = 101
"""No parameter was chosen on these seeds; parameters were chosen on seeds 1 to 10."""
FAULT_SEEDS = 2


def main() -> int:
    """Run the benchmark and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.autoscaling")
    parser.add_argument("--seeds", type=int, default=10, help="how many to draw")
    parser.add_argument("--quick", action="store_true", help="only what the tests run")
    parser.add_argument("--tune", action="store_true", help="search KEDA's best settings anew")
    parser.add_argument(
        "--record", action="store_true", help="write the tables and the picture into the docs"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 for a missed target")
    given = parser.parse_args()
    config, curves = load()
    if given.tune:
        keda.write(keda.search(config, curves, say))
        return 0
    seeds: Sequence[int] = range(FIRST_SEED, FIRST_SEED + max(1, given.seeds))
    if given.quick:
        seeds, found = quick.SEEDS, quick.rows(config, curves)
        say("\n".join(tables.targets(found, seeds, elsewhere.load())))
    else:
        runs = collected(evaluate(config, curves, keda.tuned(), seeds))
        found = shown(config, curves, runs, seeds, record=given.record)
    return 1 if given.strict and not all(row.met for row in found) else 0


def shown(
    config: FleetConfig,
    curves: Mapping[str, Curve],
    runs: Runs,
    seeds: Sequence[int],
    *,
    record: bool,
) -> list[Row]:
    """Print the tables of a run, and write them into the page if requested."""
    found = [*rows(runs, config), *outage(config, curves["ramp"], FIRST_SEED)]
    compared = [compare(each, curves, seeds[:FAULT_SEEDS]) for each in fault_scenarios(config)]
    parts = {
        "targets": list(tables.targets(found, seeds, elsewhere.load())),
        "runs": list(tables.every_run(runs)),
        "faults": list(tables.faults(compared)),
    }
    for lines in reversed(parts.values()):
        say("\n".join((*lines, "")))
    if record:
        tables.record(parts, runs)
    return found


if __name__ == "__main__":
    sys.exit(main())
