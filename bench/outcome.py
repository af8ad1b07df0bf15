"""What a scenario reports: figures with units and spreads, and rows for the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.figures import Spread, spread

Row = Mapping[str, float | int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value; its bar, if any, is in the scenario's budget file."""

    key: str
    label: str
    unit: str
    value: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The measurements of one scenario; `rows` keep every round."""

    scenario: str
    figures: tuple[Figure, ...]
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = field(default=())


def figure(key: str, label: str, unit: str, values: Sequence[float]) -> Figure:
    """Return a figure from its rounds: their median."""
    return Figure(key=key, label=label, unit=unit, value=spread(values))


def ratio(key: str, label: str, value: Spread) -> Figure:
    """Return a figure from paired ratios."""
    return Figure(key=key, label=label, unit="x", value=value)
