"""`python -m bench.autoscaling`: one table of what is aimed at and what was measured.

Everything is simulated, and the same seeds give the same table on every machine. Exit code 0
whatever was measured; with `--strict` 1 for a missed target.
"""

from __future__ import annotations

import argparse
import sys

from bench.autoscaling.evaluation import Row, Runs, evaluate, outage, rows
from bench.autoscaling.workload import load
from bench.context import say

FIRST_SEED = 101
"""Nothing was chosen by what came of these."""


def main() -> int:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.autoscaling")
    parser.add_argument("--seeds", type=int, default=3, help="how many to draw")
    parser.add_argument("--strict", action="store_true", help="exit 1 for a missed target")
    given = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + max(1, given.seeds))
    scene, curves = load()
    runs = evaluate(scene, curves, seeds, say)
    found = [*rows(runs, scene), outage(scene, curves["ramp"], FIRST_SEED)]
    found.sort(key=lambda row: row.target)
    _show_runs(runs)
    _show_rows(found)
    return 1 if given.strict and not all(row.met for row in found) else 0


def _show_runs(runs: Runs) -> None:
    print(f"{'workload':10} {'controller':24}  late %    p99 s  pod-h  acts flips  stopped")
    for (name, contender), found in runs.items():
        count = len(found)
        late = 100 * sum(each.late_share for each in found) / count
        wait = sum(each.wait_p99 for each in found) / count
        hours = sum(each.pod_hours for each in found) / count
        actions = sum(each.actions for each in found) / count
        flips = sum(each.flips for each in found) / count
        stopped = sum(each.interrupted for each in found)
        print(
            f"{name:10} {contender:24} {late:7.2f} {wait:8.1f} {hours:6.1f} "
            f"{actions:5.0f} {flips:5.0f} {stopped:8}"
        )


def _show_rows(found: list[Row]) -> None:
    print()
    for row in found:
        verdict = "met" if row.met else "MISSED"
        print(f"{row.target}  {row.what:66} {row.aim:14} {row.measured:18} {verdict}")


if __name__ == "__main__":
    sys.exit(main())
