"""Simulate by seeds: `python -m tests.simulation [--part leader] --seed 17 --steps 2050`.

Without a seed it simulates many, of the leader and of the autoscaler, and prints for each that
breaks a promise the line that replays it. The exit code is 1 if any does.
"""

import argparse
import os
import sys
from time import monotonic

from tests.simulation.record import record
from tests.simulation.seeds import PARTS, STEPS, simulate, simulated
from tests.simulation.verdict import Verdict


def main() -> int:
    """Simulate what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    parser.add_argument("--seed", type=int, help="one seed, of the leader if no part is named")
    parser.add_argument("--steps", type=int, default=STEPS, help="of one seed at most")
    parser.add_argument("--seeds", type=int, default=2000, help="so many of each part")
    parser.add_argument("--start", type=int, default=0, help="the first of them")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true", help="write the page of results")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _tell([simulate(asked.part or PARTS[0], asked.seed, asked.steps)])
    parts = [asked.part] if asked.part else list(PARTS)
    seeds = range(asked.start, asked.start + asked.seeds)
    if asked.record:
        return record(seeds, asked.processes)
    broken = 0
    for part in parts:
        began = monotonic()
        found = 0
        for verdict in simulated(part, seeds, asked.processes):
            if verdict.broken:
                found += _tell([verdict])
        took = monotonic() - began
        sys.stdout.write(f"{part}: {found} of {len(seeds)} seeds are broken, {took:.0f} s\n")
        broken += found
    return broken > 0


def _tell(verdicts: list[Verdict]) -> int:
    """Print a line for each seed; returns how many are broken."""
    for each in verdicts:
        sys.stdout.write(f"{each.line}: {each.broken or 'every promise is kept'}\n")
        sys.stdout.flush()
    return sum(bool(each.broken) for each in verdicts)


if __name__ == "__main__":
    sys.exit(main())
