"""The page of results: how many seeds, what was checked, and which variants are found."""

import subprocess
import sys
from collections.abc import Sequence
from time import monotonic

from tests.simulation.seeds import PARTS, hunt, simulated, summed
from tests.simulation.variants import VARIANTS
from tests.simulation.verdict import Verdict
from tests.support.tree import ROOT

PAGE = "docs/reference/proof/simulation.md"
_HUNTED_MAX = 400
_HEAD = """# Simulation from one seed

<!-- Written by `python -m tests.simulation --record`; do not edit. -->

The leader's own code (lease, take-over, loop, sweeps, scans, policy watch) and the
autoscaler's own controllers run over a simulated database, clock and cluster. A seed draws
policies, load, and what goes wrong. Of the leader: processes that die or stand still,
sessions lost in the middle of a statement whose outcome stays unknown, late and rolled-back
commits, locked jobs, receipts that come late, steps of the clock, workers that die with their
jobs, lost notifications, policies and pauses that change. Of the autoscaler: pods that never
start, evictions, lost nodes, requests that are refused or whose answer is lost, stale
watches, a silent scheduler, an unreachable database, two controllers of which one dies or
stands still.

What every history is checked for, and how, is said in `tests/simulation/promises.py` and
`tests/simulation/scaling.py`. The simulation stands in for no SQL: what the statements do is
modelled, and a statement happens at one instant. Queues by another policy's weights are not
compared for a while after a leader that stood still has applied it, nor after policies with
limits, rates or reserves.

A seed that breaks a promise prints a line such as `python -m tests.simulation --seed 17
--steps 2050`, which replays it up to there.
"""


def record(seeds: Sequence[int], processes: int) -> int:
    """Simulate these seeds, hunt for every variant, write the page; return the exit code."""
    said = f"Commit `{_commit()}`, seeds {seeds[0]:,} to {seeds[-1]:,} of each part.\n"
    lines = [_HEAD, said, "## Seeds\n"]
    lines += ["| part | seeds | broken | seconds | promises checked |", "|---|---|---|---|---|"]
    broken = 0
    longest: list[str] = []
    for part in PARTS:
        began = monotonic()
        verdicts = list(simulated(part, seeds, processes))
        lines.append(_row(part, verdicts, monotonic() - began))
        broken += sum(bool(each.broken) for each in verdicts)
        for what, most_us in sorted(summed(verdicts)[1].items()):
            longest.append(f"| {part} | {what} | {most_us / 1e6:.2f} s |")
    lines += ["\nThe longest that anything took while nothing went wrong:\n"]
    lines += ["| part | what | longest |", "|---|---|---|", *longest]
    lines += ["\n## Variants that are broken on purpose\n"]
    lines += [
        "| variant | part | seeds until found | what is found |",
        "|---|---|---|---|",
    ]
    for variant in VARIANTS:
        found = hunt(variant, _HUNTED_MAX)
        sys.stdout.write(f"{variant.name}: {found and found.seed}\n")
        many = f"none of {_HUNTED_MAX}" if found is None else str(found.seed + 1)
        what = "" if found is None else found.broken.replace("|", "/")
        lines.append(f"| {variant.name} | {variant.part} | {many} | {what[:90]} |")
        broken += found is None
    path = ROOT / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return broken > 0


def _row(part: str, verdicts: Sequence[Verdict], took: float) -> str:
    checked = ", ".join(
        f"{name} {count:,}" for name, count in sorted(summed(verdicts)[0].items())
    )
    broken = sum(bool(each.broken) for each in verdicts)
    return f"| {part} | {len(verdicts):,} | {broken} | {took:,.0f} | {checked} |"


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607 - git is where it is
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()
