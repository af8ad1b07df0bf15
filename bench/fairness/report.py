"""Tables of target against measured and of every contender, and all of it as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.fairness.outcome import Outcome, Verdict
from bench.fairness.workload import Target
from bench.machine import Machine
from bench.report import RESULTS, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The conditions of a run."""

    form: str
    seed: int
    machine: Machine
    seconds: float
    real: bool = False
    """Whether there was a database, and not simulated time only."""
    scenes: bool = False
    """Whether the scenes were played, and nothing else."""


def title(figure: str) -> tuple[str, str]:
    """Return a figure's name in words, and its unit."""
    for suffix, unit in (
        ("_slot_seconds", "slot-s"),
        ("per_second", "/s"),
        ("_ms", "ms"),
    ):
        if figure.endswith(suffix):
            words = figure.removesuffix(suffix) or "jobs"
            return words.strip("_").replace("_", " "), unit
    if figure.endswith("_seconds"):
        return figure.removesuffix("_seconds").replace("_", " "), "s"
    return figure.replace("_", " "), ""


_COUNTS = ("unserved", "questions", "never_started", "jobs_lost", "jobs_done_twice")
_COUNTED = ("versions_", "rows_", "jobs_over_")


def value(figure: str, measured: float | None) -> str:
    """Return a figure as people read it; a dash if there is none."""
    if measured is None:
        return "-"
    if figure.endswith(_COUNTS) or figure.startswith(_COUNTED):
        return f"{measured:,.0f}"
    unit = title(figure)[1]
    text = (
        f"{measured:.4f}"
        if not unit
        else f"{measured:.3f}"
        if unit == "s"
        else number(measured)
    )
    return f"{text} {unit}".rstrip()


def bound(target: Target) -> str:
    """Return what is aimed at."""
    sign, edge = ("≤", target.at_most) if target.at_most is not None else ("≥", target.at_least)
    stretch = "" if target.stretch is None else f" ({target.stretch:g})"
    return f"{sign} {edge:g}{stretch}"


def word(verdict: Verdict) -> str:
    """Say whether a target is met."""
    if verdict.measured is None:
        return "not measured"
    return "missed" if verdict.missed else "met"


_STYLES = {"met": "green", "missed": "bold red", "not measured": "dim"}


def show(outcomes: Sequence[Outcome], run: Run) -> None:
    """Print the targets with what was measured, then each workload's contenders."""
    console = Console(width=None if Console().is_terminal else 140)
    console.print(_targets(outcomes, run))
    for outcome in outcomes:
        console.print(_contenders(outcome))
    console.print(
        f"{run.machine.cpu_model}, {run.machine.cores} cores, commit {run.machine.commit}; "
        f"took {run.seconds:.0f} s. What is simulated is the same on any machine",
        highlight=False,
    )


def _targets(outcomes: Sequence[Outcome], run: Run) -> Table:
    table = Table(
        title=f"Fairness, {run.form} form, seed {run.seed}: Fairlead against its targets"
    )
    for column in ("", "figure", "target (stretch)", "measured", "verdict"):
        table.add_column(column, justify="right" if column.startswith(("t", "m")) else "left")
    for outcome in outcomes:
        table.add_section()
        table.add_row(f"[bold]{outcome.name}[/]", f"[bold]{outcome.workload.title}[/]")
        for verdict in outcome.verdicts:
            said = word(verdict)
            table.add_row(
                "",
                title(verdict.figure)[0],
                bound(verdict.target),
                value(verdict.figure, verdict.measured),
                f"[{_STYLES[said]}]{said}[/]",
            )
    return table


def _contenders(outcome: Outcome) -> Table:
    workload = outcome.workload
    size = f"{workload.slots} slots, {workload.seconds:g} s, {outcome.jobs:,} jobs"
    table = Table(title=f"{outcome.name}: {size}")
    table.add_column("" if outcome.is_scene else "policy")
    for figure in workload.show:
        table.add_column(title(figure)[0], justify="right")
    for name, measured in outcome.measured.items():
        table.add_row(name, *(value(figure, measured.get(figure)) for figure in workload.show))
    return table


def write(outcomes: Sequence[Outcome], run: Run, path: Path | None) -> Path:
    """Write the run as JSON, by default under a name of its own in `bench/results`."""
    stamp = run.machine.date.replace(":", "").replace("+0000", "Z")
    target = path or RESULTS / f"{stamp}-fairness-{run.form}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **asdict(run),
        "workloads": {
            outcome.name: {
                "parameters": outcome.workload.model_dump(mode="json"),
                "jobs": outcome.jobs,
                "measured": outcome.measured,
                "compared": outcome.compared,
                "targets": {
                    each.figure: {"measured": each.measured, "verdict": word(each)}
                    for each in outcome.verdicts
                },
            }
            for outcome in outcomes
        },
    }
    target.write_text(json.dumps(content, indent=1) + "\n")
    return target
