"""How far a figure over some seeds may be from the truth: intervals by drawing seeds anew."""

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
    """Return a figure of runs and its interval, by bootstrap; the same runs give the same.

    Args:
        seeds: Places of the seeds; every contender of a draw has the same ones, for they play
            the same jobs.
        figure: What is made of the runs at some places.
    """
    dice = Random("interval")
    drawn = sorted(figure(dice.choices(seeds, k=len(seeds))) for _ in range(_DRAWS))
    return Interval(figure(seeds), drawn[int(0.025 * _DRAWS)], drawn[int(0.975 * _DRAWS)])
