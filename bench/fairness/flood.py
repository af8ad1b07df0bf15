"""`python -m bench.fairness.flood`: measure and draw the waits of quiet tenants under a flood.

The workload FLOOD is played twice on PostgreSQL with the same scheduler and worker: once as it
is, and once with every job under one tenant, which makes the product a plain FIFO queue. The
picture is the README's; the figures of its caption are printed. It takes six minutes.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.context import say
from bench.fairness.postgres import replay
from bench.fairness.traffic.generate import generate
from bench.fairness.traffic.workload import FOLDER, Workload, load
from bench.machine import ROOT
from bench.png import save
from bench.server import Server, running
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = ROOT / "docs/images/flood.png"
_FAIRLEAD_COLOUR, _FIFO_COLOUR = "tab:green", "tab:orange"
_SEED = 1
_SHORTEST_SECONDS = 0.001
"""Shorter waits are drawn here, for the axis is logarithmic."""
_WAITS = ("1 ms", "10 ms", "0.1 s", "1 s", "10 s", "100 s")


class Wait(NamedTuple):
    """One job of a quiet tenant that was claimed."""

    at_seconds: float
    """When it was inserted."""
    seconds: float
    """How long it waited for a worker."""


class Flood(NamedTuple):
    """The one burst of the noisy tenant."""

    at_seconds: float
    jobs: int
    until_seconds: float
    """When its last job was claimed in the plain queue."""


def main(argv: Sequence[str] | None = None) -> int:
    """Play the workload in both orders, draw the picture and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.fairness.flood", description=__doc__)
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where the PNG goes")
    given = parser.parse_args(argv)
    workload = load(FOLDER / "FLOOD.toml")
    trace = generate(workload, _SEED)
    with running() as server:
        say("in Fairlead's order")
        fair = _played(server, workload, trace)
        say("as a plain FIFO queue")
        fifo = _played(server, workload, in_one_lane(trace))
    flood = flood_of(fifo)
    ours, plain = quiet_waits(fair), quiet_waits(fifo)
    draw(given.picture, ours, plain, flood)
    say(f"{flood.jobs} jobs at {flood.at_seconds:.0f} s, until {flood.until_seconds:.0f} s")
    for name, waits in (("Fairlead", ours), ("plain queue", plain)):
        seconds = during(waits, flood)
        say(
            f"{name}: meanwhile {len(seconds)} quiet jobs came and waited"
            f" {statistics.median(seconds):.3f} s (median), {max(seconds):.3f} s (longest)"
        )
    return 0


def _played(
    server: Server, workload: Workload, trace: Sequence[Arrival]
) -> Sequence[JobOutcome]:
    observed = replay.play(
        server, trace, slots=workload.slots, until_us=workload.until_us, edits=()
    )
    return observed.played


def in_one_lane(trace: Sequence[Arrival]) -> tuple[Arrival, ...]:
    """Return the jobs under one tenant, whose lane is served first come, first served."""
    return tuple(job._replace(tenant="all") for job in trace)


def quiet_waits(played: Sequence[JobOutcome]) -> list[Wait]:
    """Return the waits of the quiet tenants' claimed jobs, in the order of their insertion."""
    return sorted(
        Wait(job.arrival.at_us / 1e6, (job.claimed_us - job.arrival.at_us) / 1e6)
        for job in played
        if job.arrival.group == "quiet" and job.claimed_us is not None
    )


def flood_of(played: Sequence[JobOutcome]) -> Flood:
    """Return when the flood came and when it was through."""
    jobs = [job for job in played if job.arrival.group == "noisy"]
    claimed_us = [job.claimed_us for job in jobs if job.claimed_us is not None]
    assert len(claimed_us) == len(jobs), "the run was too short for the flood"
    begun_us = min(job.arrival.at_us for job in jobs)
    return Flood(begun_us / 1e6, len(jobs), max(claimed_us) / 1e6)


def during(waits: Sequence[Wait], flood: Flood) -> list[float]:
    """Return the waits, in seconds, of the jobs that were inserted while the flood waited."""
    return [
        wait.seconds
        for wait in waits
        if flood.at_seconds <= wait.at_seconds < flood.until_seconds
    ]


def draw(path: Path, fair: Sequence[Wait], fifo: Sequence[Wait], flood: Flood) -> None:
    """Draw each quiet job's wait over the time of its insertion, in both orders, into a PNG."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, and wanted at the end

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots()
    left_seconds = flood.at_seconds + 3
    for waits, colour, name in (
        (fifo, _FIFO_COLOUR, "plain FIFO queue"),
        (fair, _FAIRLEAD_COLOUR, "Fairlead"),
    ):
        _draw_waits(axes, waits, colour)
        meanwhile = during(waits, flood)
        label = f"{name}: median {_rounded(statistics.median(meanwhile))}"
        place = (left_seconds, 1.6 * max(meanwhile))
        axes.annotate(label, place, color=colour, fontsize=15, fontweight="bold")
    axes.axvline(flood.at_seconds, color="0.4", linestyle=":", linewidth=1.2)
    label = f"\N{LEFTWARDS ARROW} another tenant enqueues {flood.jobs:,} jobs at once"
    axes.annotate(label, (flood.at_seconds + 1, 3.0), fontsize=12, color="0.25")
    axes.set_title("How long the jobs of nine quiet tenants wait", fontsize=15, loc="left")
    axes.set_yscale("log")
    axes.set_ylim(_SHORTEST_SECONDS, 400)
    axes.set_yticks([10**power for power in range(-3, 3)], _WAITS, fontsize=12)
    axes.set_ylabel("wait, log scale", fontsize=12)
    axes.set_xlim(left=0)
    axes.tick_params(axis="x", labelsize=12)
    axes.set_xlabel("enqueued after, seconds", fontsize=12)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)


def _draw_waits(axes: Axes, waits: Sequence[Wait], colour: str) -> None:
    """Draw one dot for each job."""
    axes.scatter(
        [wait.at_seconds for wait in waits],
        [max(_SHORTEST_SECONDS, wait.seconds) for wait in waits],
        s=7,
        c=colour,
        linewidths=0,
    )


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    raise SystemExit(main())
