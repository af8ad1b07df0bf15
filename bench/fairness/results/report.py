"""Print and write the table of targets, each workload's contenders and the costs per job."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.fairness.contenders.registry import REAL
from bench.fairness.results.figures import COSTS
from bench.fairness.results.outcome import Outcome, middle
from bench.fairness.results.table import Row, interval, median, rows
from bench.fairness.traffic.workload import Target
from bench.machine import Machine
from bench.report import RESULTS, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The conditions of a run."""

    form: str
    seeds: tuple[int, ...]
    machine: Machine
    seconds: float
    postgres: str
    """The server's version; empty without one."""
    failures: tuple[str, ...] = ()

    @property
    def conditions(self) -> str:
        """Return the conditions in one sentence or two."""
        seeds = ", ".join(map(str, self.seeds))
        where = self.machine
        server = f"PostgreSQL {self.postgres}" if self.postgres else "in simulated time only"
        return (
            f"The {self.form} form, seed {seeds}, commit {where.commit}, {where.date[:10]}. "
            f"{where.cpu_model}, {where.cores} cores, {where.memory_gib:g} GiB, "
            f"Python {where.python}, {server}; it took {self.seconds / 60:.1f} minutes."
        )


Runs = Sequence[Sequence[Outcome]]
"""The runs of each workload."""

_UNITS = (
    ("_slot_seconds", "slot-s"),
    ("per_second", "/s"),
    ("_ms", "ms"),
    ("_mib", "MiB"),
    ("_us", "µs"),
    ("_bytes", "B"),
)


def title(figure: str) -> tuple[str, str]:
    """Return a figure's name in words, and its unit."""
    for suffix, unit in _UNITS:
        if figure.endswith(suffix):
            words = figure.removesuffix(suffix) or "jobs"
            return words.strip("_").replace("_", " "), unit
    if figure.endswith("_seconds"):
        return figure.removesuffix("_seconds").replace("_", " "), "s"
    return figure.replace("_", " "), ""


_COUNTS = ("unserved", "questions", "started", "never_started", "jobs_lost", "jobs_done_twice")
_COUNTED = ("versions_", "rows_", "jobs_over_")


def value(figure: str, measured: float | None) -> str:
    """Return a figure in readable form; a dash if there is none."""
    if measured is None:
        return "-"
    if measured == math.inf:
        return "never"
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
    """Return a target in words."""
    sign, edge = ("≤", target.at_most) if target.at_most is not None else ("≥", target.at_least)
    stretch = "" if target.stretch is None else f" ({target.stretch:g})"
    return f"{sign} {edge:g}{stretch}"


def heads(run: Run) -> tuple[str, ...]:
    """Return the column heads of the table, after the row's name and workload."""
    spread = ("worst", "95 %") if len(run.seeds) > 1 else ()
    return ("figure", "target (stretch)", "simulated", "on PostgreSQL", *spread, "result")


def cells(row: Row, run: Run) -> tuple[str, ...]:
    """Return the cells under them, the result last."""
    figure = row.figure
    spread: tuple[str, ...] = ()
    if len(run.seeds) > 1:
        bounds = interval(row.evaluated)
        lies = " to ".join(value(figure, each) for each in bounds) if bounds else "-"
        spread = (value(figure, row.worst), lies)
    return (
        title(figure)[0],
        bound(row.target),
        value(figure, median(row.simulated)),
        value(figure, median(row.real)),
        *spread,
        row.result,
    )


_STYLES = {"met": "green", "met, not in each run": "yellow", "missed": "bold red"}


def show(runs: Runs, run: Run) -> None:
    """Print each workload's contenders, then the targets with the measured figures."""
    console = Console(width=None if Console().is_terminal else 140)
    outcomes = [middle(of_one) for of_one in runs]
    for outcome in outcomes:
        console.print(_contenders(outcome))
    if costs(outcomes):
        console.print(_costs(outcomes))
    console.print(_targets(runs, run))
    for row in rows(runs):
        if row.missed:
            console.print(f"{row.name}, {title(row.figure)[0]} missed: {row.why}")
    console.print(run.conditions, highlight=False)


def _targets(runs: Runs, run: Run) -> Table:
    names = heads(run)
    table = Table(title="Fairness: Fairlead against its targets")
    for column in ("", *names):
        is_text = column in {"", "figure", "result"}
        table.add_column(column, justify="left" if is_text else "right")
    last = ""
    for row in rows(runs):
        if row.name != last:
            table.add_section()
            rest = [""] * (len(names) - 1)
            table.add_row(f"[bold]{row.name}[/]", f"[bold]{row.title}[/]", *rest)
            last = row.name
        *figures, result = cells(row, run)
        table.add_row("", *figures, f"[{_STYLES.get(result, 'dim')}]{result}[/]")
    return table


def size(outcome: Outcome) -> str:
    """Return how large a workload is; a scene of many rows has no number of jobs."""
    workload = outcome.workload
    warm = f" after {workload.warm_seconds:g} s" if workload.warm_seconds else ""
    jobs = f", {outcome.jobs:,} jobs" if outcome.jobs else ""
    return f"{workload.slots} slots, {workload.seconds:g} s{warm}{jobs}"


def _contenders(outcome: Outcome) -> Table:
    workload = outcome.workload
    table = Table(title=f"{outcome.name}: {size(outcome)}")
    table.add_column("" if outcome.is_scene else "policy")
    for figure in workload.show:
        table.add_column(title(figure)[0], justify="right")
    for name, measured in outcome.measured.items():
        table.add_row(name, *(value(figure, measured.get(figure)) for figure in workload.show))
    return table


def costs(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return the costs per dispatched job of each run on PostgreSQL, after the run's name."""
    return [
        (outcome.name, *(value(figure, measured.get(figure)) for figure in COSTS))
        for outcome in outcomes
        if (measured := outcome.measured.get(REAL)) is not None
    ]


def _costs(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="What a dispatched job took on PostgreSQL")
    table.add_column("")
    for figure in COSTS:
        table.add_column(title(figure)[0], justify="right")
    for row in costs(outcomes):
        table.add_row(*row)
    return table


def write(runs: Runs, run: Run, path: Path | None) -> Path:
    """Write the run as JSON, by default under a name of its own in `bench/results`."""
    stamp = run.machine.date.replace(":", "").replace("+0000", "Z")
    target = path or RESULTS / f"{stamp}-fairness-{run.form}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {**asdict(run), "workloads": {of_one[0].name: _json(of_one) for of_one in runs}}
    target.write_text(json.dumps(content, indent=1) + "\n")
    return target


def _json(runs: Sequence[Outcome]) -> dict[str, object]:
    """Return one workload: medians, results and, of several runs, each of them."""
    outcome = middle(runs)
    each = [
        {"seed": run.seed, "measured": run.measured, "evaluated": run.evaluated} for run in runs
    ]
    return {
        "parameters": outcome.workload.model_dump(mode="json"),
        "jobs": outcome.jobs,
        "measured": outcome.measured,
        "evaluated": outcome.evaluated,
        **({"runs": each} if len(runs) > 1 else {}),
        "targets": {row.figure: _result(row) for row in rows([runs])},
    }


def _result(row: Row) -> dict[str, object]:
    return {
        "simulated": median(row.simulated),
        "on PostgreSQL": median(row.real),
        "worst": row.worst,
        "mean_95": interval(row.evaluated),
        "result": row.result,
        "missed_because": row.why,
    }
