"""Print the figures with their bars, and write everything that was measured as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import budgets
from bench.budgets import Bar, Budget
from bench.figures import Spread
from bench.machine import ROOT, Machine
from bench.outcome import Figure, Outcome

RESULTS = ROOT / "bench" / "results"
_STYLES = {
    "met": "green",
    "missed": "bold red",
    "stretch met": "green",
    "stretch missed": "yellow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The conditions of a run, and its outcomes."""

    form: str
    seed: int
    machine: Machine
    postgres: str
    versions: Mapping[str, str]
    tuned: Mapping[str, object]
    failures: tuple[str, ...]


def number(value: float) -> str:
    """Return a figure with its significant digits."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def _span(value: Spread) -> str:
    if value.rounds == 1:
        return ""
    return f"{number(value.lowest)} .. {number(value.highest)}"


def _result(bar: Bar | None, goal: Bar | None, value: float) -> tuple[str, str]:
    if bar is not None and not bar.met(value):
        return bar.text(), "missed"
    if goal is not None:
        return goal.text(), "stretch met" if goal.met(value) else "stretch missed"
    return (bar.text(), "met") if bar is not None else ("", "")


def missed(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return each figure that misses its bar, as `scenario key`."""
    return tuple(
        f"{outcome.scenario} {each.key}"
        for outcome in outcomes
        for bars in [budgets.load(outcome.scenario).bars]
        for each in outcome.figures
        if each.key in bars and not bars[each.key].met(each.value.median)
    )


def _add(table: Table, budget: Budget, figure: Figure, first: str) -> None:
    bar, result = _result(
        budget.bars.get(figure.key), budget.goals.get(figure.key), figure.value.median
    )
    style = _STYLES.get(result, "")
    table.add_row(
        first,
        figure.label,
        bar,
        f"{number(figure.value.median)} {figure.unit}",
        _span(figure.value),
        f"[{style}]{result}[/]" if style else "",
    )


def show(outcomes: Sequence[Outcome], run: Run) -> None:
    """Print one table of all figures, those with bars first in each scenario."""
    console = Console(width=None if Console().is_terminal else 120)
    table = Table(title=f"Fairlead's bars, {run.form} form, seed {run.seed}")
    for column in ("", "figure", "bar", "measured", "spread", "result"):
        table.add_column(column, justify="right" if column in {"bar", "measured"} else "left")
    for outcome in outcomes:
        budget = budgets.load(outcome.scenario)
        table.add_section()
        table.add_row(f"[bold]{outcome.scenario}[/]", f"[bold]{budget.title}[/]")
        for each in outcome.figures:
            _add(table, budget, each, "")
        for note in outcome.notes:
            table.add_row("", f"[dim]{note}[/]")
    console.print(table)
    for failure in run.failures:
        console.print(f"[bold red]broken:[/] {failure}", highlight=False)
    console.print(
        f"{run.machine.cpu_model}, {run.machine.cores} cores, PostgreSQL {run.postgres}, "
        f"commit {run.machine.commit}; ratios are of rounds that took turns in this run",
        highlight=False,
    )


def write(outcomes: Sequence[Outcome], run: Run, path: Path | None) -> Path:
    """Write the run as JSON, by default under a name of its own in `bench/results`."""
    stamp = run.machine.date.replace(":", "").replace("+0000", "Z")
    target = path or RESULTS / f"{stamp}-{run.form}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **asdict(run),
        "missed": missed(outcomes),
        "scenarios": [
            {
                "scenario": outcome.scenario,
                "figures": [asdict(each) for each in outcome.figures],
                "rounds": [dict(row) for row in outcome.rows],
                "notes": list(outcome.notes),
            }
            for outcome in outcomes
        ],
    }
    target.write_text(json.dumps(content, indent=1) + "\n")
    return target
