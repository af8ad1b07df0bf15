"""The picture of a run: one panel per workload, one dot per contender."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fairness.contenders.registry import FAIRLEAD, REAL
from bench.fairness.results.outcome import Outcome
from bench.fairness.results.report import title
from bench.png import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _OTHERS, _TARGET = "tab:green", "tab:gray", "tab:red"


def draw(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Draw each workload's first figure of every contender into a PNG, reproducibly."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, and wanted at the end

    columns = min(2, len(outcomes))
    rows = -(-len(outcomes) // columns)
    figure = Figure(figsize=(4.4 * columns, 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for place in range(rows * columns):
        axes = panels[place // columns][place % columns]
        if place < len(outcomes):
            _panel(axes, outcomes[place])
        else:
            axes.set_axis_off()
    save(figure, path)


def _panel(axes: Axes, outcome: Outcome) -> None:
    shown = outcome.workload.show[0]
    bars = {name: m[shown] for name, m in outcome.measured.items() if shown in m}
    names = list(reversed(bars))
    values = [bars[name] for name in names]
    colours = [
        _OURS if name.startswith(FAIRLEAD) or name == REAL else _OTHERS for name in names
    ]
    # Dots, for a bar would say nothing where the axis does not begin at 0.
    axes.scatter(values, names, c=colours, s=28, zorder=2)
    axes.grid(axis="y", color="0.9", zorder=1)
    if min(values) > 0 and max(values) > 20 * min(values):
        axes.set_xscale("log")
    else:
        axes.set_xlim(0, 1.04 * max(*values, 1e-9))
    target = outcome.workload.targets.get(shown)
    edge = (
        None
        if target is None
        else target.at_least
        if target.at_most is None
        else target.at_most
    )
    if edge is not None:
        axes.axvline(edge, color=_TARGET, linestyle=":", linewidth=1)
    words, unit = title(shown)
    axes.set_xlabel(f"{words}{f', {unit}' if unit else ''}", fontsize=8)
    axes.set_title(f"{outcome.name}: {outcome.workload.title}", fontsize=9)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
