"""Confidence intervals of a figure over some seeds, by resampling the seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and the ends of its 95 % interval."""

    figure: float
    low: float
    high: float


def interval(seeds: Sequence[int], figure: Callable[[Sequence[int]], float]) -> Interval:
    """Return a figure and its bootstrap interval; the same runs give the same.

    Args:
        seeds: Indexes of the seeds; every contender of a draw has the same ones, since they
            run the same jobs.
        figure: Computes the figure from the runs at some indexes.
    """
    dice = Random("interval")
    drawn = sorted(figure(dice.choices(seeds, k=len(seeds))) for _ in range(_DRAWS))
    return Interval(figure(seeds), drawn[int(0.025 * _DRAWS)], drawn[int(0.975 * _DRAWS)])
