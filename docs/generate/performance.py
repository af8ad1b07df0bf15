"""Write the page of performance from the budget files: each bar and its last measurement."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from bench import budgets
from bench.report import number

PATH = Path("docs/reference/performance.md")

_HEAD = """# Performance

How fast Fairlead is, measured against its performance bars. [What each case
measures](../../bench/README.md). Run `make bench` to measure your own machine.

`python -m bench --record` wrote the figures on a machine that did nothing else; PostgreSQL,
producers, scheduler and workers shared its cores. Absolute figures differ from machine to
machine. A ratio is the median of rounds that alternated in one run. `python -m docs.generate`
writes this page from `bench/budgets`.
"""
_COLUMNS = """| figure | bar | measured | lowest and highest | |
| --- | --- | --- | --- | --- |
"""


_UNDER = """## With a policy in force

The same bars while a policy of `bench/policies` is in force: `python -m bench` with `--policy`,
`--tenants` and `--record`. P8 always has ten thousand tenants.
"""


class _On(TypedDict):
    machine: str
    postgres: str
    python: str
    date: str
    commit: str
    form: str
    policy: NotRequired[str]
    tenants: NotRequired[int]


class _Observed(TypedDict):
    label: str
    median: float
    lowest: float
    highest: float
    rounds: int
    unit: str


def render() -> str:
    """Return the page."""
    own = sorted(budgets.FOLDER.glob("*.toml"), key=_place)
    under = sorted(budgets.UNDER.glob("*.toml"), key=_place)
    parts = [_HEAD, *(_section(path, path.stem) for path in own)]
    if under:
        parts.append(_UNDER)
        parts += [_section(path, path.stem.rpartition("-")[2]) for path in under]
    return "\n".join(parts)


def _place(path: Path) -> tuple[str, int]:
    policy, _, scenario = path.stem.rpartition("-")
    return policy, int(scenario[1:])


def _section(path: Path, scenario: str) -> str:
    budget = budgets.load(scenario)
    content = tomllib.loads(path.read_text("utf-8"))
    seen = cast("Mapping[str, _Observed]", content.get("observed", {}))
    on = cast("_On", content.get("observed_on", {}))
    rows = [_row(key, each, budget) for key, each in seen.items()]
    where = (
        f"{on['machine']}, PostgreSQL {on['postgres']}, Python {on['python']}, "
        f"{on['date'][:10]}, commit {on['commit'][:10]}, {on['form']} form.\n"
        if on
        else "Not measured yet.\n"
    )
    title = f"## {budget.scenario}: {budget.title}\n"
    if "policy" in on:
        number_of = on.get("tenants", 1)
        tenants = f"{number_of:,} tenants" if number_of > 1 else "one tenant"
        title = f"### {budget.scenario} under {on['policy']}, {tenants}\n"
    return "\n".join(
        [title, where, _COLUMNS + "\n".join(rows) + "\n"] if rows else [title, where]
    )


def _row(key: str, seen: _Observed, budget: budgets.Budget) -> str:
    bar, goal = budget.bars.get(key), budget.goals.get(key)
    result = ""
    if bar is not None:
        result = "met" if bar.met(seen["median"]) else "**missed**"
    if goal is not None and (bar is None or bar.met(seen["median"])):
        result = "stretch met" if goal.met(seen["median"]) else result or "stretch missed"
    bars = ", ".join(
        text
        for text in (bar.text() if bar else "", f"stretch {goal.text()}" if goal else "")
        if text
    )
    measured = f"{number(seen['median'])} {seen['unit']}"
    around = f"{number(seen['lowest'])} to {number(seen['highest'])}"
    cells = (seen["label"], bars, measured, around if seen["rounds"] > 1 else "", result)
    return f"| {' | '.join(cells)} |"
