"""Budget files: one per scenario, with each figure's bar and what was last observed.

The bars are the specification's and are edited by hand. What was observed is rewritten by
`--record` after a run on a machine that is otherwise idle, with its spread, the machine and the
commit, so that a change that costs speed shows up as a change of a committed number.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Spread
from bench.machine import Machine
from bench.outcome import Figure, Outcome

FOLDER = Path(__file__).resolve().parent / "budgets"
UNDER = FOLDER / "under-policy"
"""Observations with a policy in force, a file for each policy and scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar for a figure; exactly one of the two bounds is given."""

    at_least: float | None
    at_most: float | None

    def met(self, value: float) -> bool:
        """Return whether the value reaches the bar."""
        if self.at_least is not None:
            return value >= self.at_least
        assert self.at_most is not None
        return value <= self.at_most

    def text(self) -> str:
        """Return the bar as a table shows it."""
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One scenario's title and the bars of its figures."""

    scenario: str
    title: str
    bars: Mapping[str, Bar]
    goals: Mapping[str, Bar]


@dataclass(frozen=True, slots=True)
class On:
    """Where and how something was observed."""

    machine: Machine
    postgres: str
    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Under:
    """The policy in force by its file's name, and the number of tenants."""

    policy: str
    tenants: int


def _bars(entries: Mapping[str, Mapping[str, float]]) -> dict[str, Bar]:
    return {
        key: Bar(at_least=entry.get("at_least"), at_most=entry.get("at_most"))
        for key, entry in entries.items()
    }


def load(scenario: str) -> Budget:
    """Read one scenario's budget file."""
    content = tomllib.loads((FOLDER / f"{scenario}.toml").read_text())
    return Budget(
        scenario=scenario,
        title=content["title"],
        bars=_bars(content.get("bars", {})),
        goals=_bars(content.get("stretch", {})),
    )


def _bar_lines(section: str, bars: Mapping[str, Bar]) -> list[str]:
    lines = [f"\n[{section}]"] if bars else []
    for key, bar in bars.items():
        name = "at_least" if bar.at_least is not None else "at_most"
        value = bar.at_least if bar.at_least is not None else bar.at_most
        lines.append(f"{key} = {{ {name} = {value} }}")
    return lines


def _observed_line(figure: Figure) -> str:
    value: Spread = figure.value
    return (
        f'{figure.key} = {{ label = "{figure.label}", unit = "{figure.unit}", '
        f"median = {value.median:.4g}, lowest = {value.lowest:.4g}, "
        f"highest = {value.highest:.4g}, rounds = {value.rounds} }}"
    )


def record(outcomes: Sequence[Outcome], on: On, under: Under | None = None) -> None:
    """Rewrite the observed part of each outcome's budget file; the bars stay as they are.

    Observations under a policy go into a file of their own, with the same bars.
    """
    for outcome in outcomes:
        path = FOLDER / f"{outcome.scenario}.toml"
        conditions: list[str] = []
        lines: list[str] = []
        if under is None:
            budget = load(outcome.scenario)
            lines += [f'title = "{budget.title}"']
            lines += _bar_lines("bars", budget.bars)
            lines += _bar_lines("stretch", budget.goals)
            lines += [""]
        else:
            path = UNDER / f"{under.policy}-{outcome.scenario}.toml"
            conditions = [f'policy = "{under.policy}"', f"tenants = {under.tenants}"]
        lines += ["[observed]", *(_observed_line(each) for each in outcome.figures), ""]
        lines += ["[observed_on]", *conditions, *_on_lines(on)]
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def _on_lines(on: On) -> list[str]:
    machine = on.machine
    return [
        f'machine = "{machine.cpu_model}, {machine.cores} cores, {machine.memory_gib} GiB"',
        f'postgres = "{on.postgres}"',
        f'python = "{machine.python}"',
        f'commit = "{machine.commit}"',
        f'date = "{machine.date}"',
        f'form = "{on.form}"',
    ]
