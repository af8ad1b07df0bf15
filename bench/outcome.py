"""What a scenario reports: figures with units and spreads, and rows for the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.figures import Spread, spread

Row = Mapping[str, float | int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value; whether it has a bar stands in the scenario's budget file."""

    key: str
    label: str
    unit: str
    value: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one scenario measured; `rows` keep every round for later questions."""

    scenario: str
    figures: tuple[Figure, ...]
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = field(default=())


def figure(key: str, label: str, unit: str, values: Sequence[float]) -> Figure:
    """Make a figure from its rounds; the median is what counts."""
    return Figure(key=key, label=label, unit=unit, value=spread(values))


def ratio(key: str, label: str, value: Spread) -> Figure:
    """Make a figure from paired ratios."""
    return Figure(key=key, label=label, unit="x", value=value)
