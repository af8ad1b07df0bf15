"""Medians, percentiles and spreads of repeated measurements; values in, values out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile: the smallest value with `share` at or below it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of repeated measurements with the extremes around it."""

    median: float
    lowest: float
    highest: float
    rounds: int


def spread(values: Sequence[float]) -> Spread:
    """Summarise one figure over its rounds; `values` must not be empty."""
    return Spread(
        median=statistics.median(values),
        lowest=min(values),
        highest=max(values),
        rounds=len(values),
    )


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Summarise the ratios ours / theirs of rounds that ran one after the other."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=True) if other])
