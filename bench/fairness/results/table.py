"""The one table: each target with the simulated figure, PostgreSQL's, and the result.

A row that ran on PostgreSQL is evaluated by that figure. Of several runs the median counts; the
worst and the confidence interval of the mean are shown with it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.fairness.contenders.registry import FAIRLEAD, REAL
from bench.fairness.results.outcome import Outcome
from bench.fairness.traffic.workload import Target

_STUDENT_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t for 95 %, by degrees of freedom from 1 on."""
_NORMAL_95 = 1.96
"""The limit for more degrees of freedom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One target of one workload, and each run's figures for it."""

    name: str
    title: str
    figure: str
    target: Target
    simulated: tuple[float, ...] = ()
    real: tuple[float, ...] = ()

    @property
    def evaluated(self) -> tuple[float, ...]:
        """The figures that are compared with the target."""
        return self.real or self.simulated

    @property
    def worst(self) -> float | None:
        """The run that is furthest on the wrong side."""
        if not self.evaluated:
            return None
        return max(self.evaluated) if self.target.at_least is None else min(self.evaluated)

    @property
    def missed(self) -> bool:
        """Whether the median misses the target."""
        measured = median(self.evaluated)
        return measured is not None and not self.target.met(measured)

    @property
    def result(self) -> str:
        """Return whether the target is met, in words."""
        if not self.evaluated:
            return "not measured"
        if self.missed:
            return "missed"
        return "met" if all(map(self.target.met, self.evaluated)) else "met, not in each run"

    @property
    def why(self) -> str:
        """Return why it is missed; empty if it is met."""
        if not self.missed:
            return ""
        return self.target.missed_because or "No reason is recorded."


def rows(runs: Sequence[Sequence[Outcome]]) -> list[Row]:
    """Return the rows of some workloads, each with its runs."""
    return [
        Row(
            name=of_one[0].name,
            title=of_one[0].workload.title,
            figure=figure,
            target=target,
            simulated=_of(of_one, FAIRLEAD, figure),
            real=_of(of_one, REAL, figure),
        )
        for of_one in runs
        for figure, target in of_one[0].workload.targets.items()
    ]


def _of(runs: Sequence[Outcome], evaluated: str, figure: str) -> tuple[float, ...]:
    found = (run.evaluated.get(evaluated, {}).get(figure) for run in runs)
    return tuple(value for value in found if value is not None)


def median(values: Sequence[float]) -> float | None:
    """Return the median; None for no values."""
    return statistics.median(values) if values else None


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the bounds of the mean's 95 % confidence interval by Student's t (1908).

    None for fewer than two values.
    """
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    t = _STUDENT_95[freedom - 1] if freedom <= len(_STUDENT_95) else _NORMAL_95
    half = t * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return mean - half, mean + half
