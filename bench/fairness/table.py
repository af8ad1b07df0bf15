"""The one table: each target with what was simulated, what PostgreSQL showed, and a verdict.

Where a row was played on PostgreSQL, that is judged. Of several runs the median is; the worst
of them and the interval in which the mean lies stand beside it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.fairness.contenders import FAIRLEAD, REAL
from bench.fairness.outcome import Outcome
from bench.fairness.workload import Target

_STUDENT_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t for 95 %, by degrees of freedom from 1 on;"""
_NORMAL_95 = 1.96
"""with more of them it is nearly this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One target of one workload, and what each run had to show for it."""

    name: str
    title: str
    figure: str
    target: Target
    simulated: tuple[float, ...] = ()
    real: tuple[float, ...] = ()

    @property
    def judged(self) -> tuple[float, ...]:
        """Return the figures that are held against the target."""
        return self.real or self.simulated

    @property
    def worst(self) -> float | None:
        """Return the run that is furthest on the wrong side."""
        if not self.judged:
            return None
        return max(self.judged) if self.target.at_least is None else min(self.judged)

    @property
    def missed(self) -> bool:
        """Whether the median is not good enough."""
        measured = median(self.judged)
        return measured is not None and not self.target.met(measured)

    @property
    def verdict(self) -> str:
        """Say whether the target is met."""
        if not self.judged:
            return "not measured"
        if self.missed:
            return "missed"
        return "met" if all(map(self.target.met, self.judged)) else "met, not in each run"

    @property
    def why(self) -> str:
        """Say why it is missed; nothing if it is not."""
        if not self.missed:
            return ""
        return self.target.missed_because or "Nobody has said why."


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


def _of(runs: Sequence[Outcome], judged: str, figure: str) -> tuple[float, ...]:
    found = (run.judged.get(judged, {}).get(figure) for run in runs)
    return tuple(value for value in found if value is not None)


def median(values: Sequence[float]) -> float | None:
    """Return the median, or None of nothing."""
    return statistics.median(values) if values else None


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the bounds of the mean's 95 % confidence interval by Student's t (1908).

    None for fewer than two values, of which nothing can be said.
    """
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    t = _STUDENT_95[freedom - 1] if freedom <= len(_STUDENT_95) else _NORMAL_95
    half = t * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return mean - half, mean + half
