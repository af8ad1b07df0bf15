"""The picture: for each workload, late jobs over pod-hours, one dot for each controller."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from bench.autoscaling.evaluation import FAIRLEAD, Runs
from bench.autoscaling.keda import LATE_MOST
from bench.png import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 2
_MARKS = "osD^v<>PX*h"
_LEAST = 0.005
"""Percent; what is below is drawn here, for the axis is logarithmic."""


def draw(path: Path, runs: Runs) -> None:
    """Draw every workload's controllers into a PNG; the same runs give the same file."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, and wanted at the end

    names = list(dict.fromkeys(name for name, _ in runs))
    height = -(-len(names) // _COLUMNS)
    figure = Figure(figsize=(8.8, 2.2 * height + 0.9), layout="constrained")
    panels = figure.subplots(height, _COLUMNS, squeeze=False)
    for place, name in enumerate(names):
        _panel(panels[place // _COLUMNS][place % _COLUMNS], runs, name)
    for place in range(len(names), height * _COLUMNS):
        panels[place // _COLUMNS][place % _COLUMNS].set_axis_off()
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    save(figure, path)


def _panel(axes: Axes, runs: Runs, name: str) -> None:
    found = [(contender, each) for (of, contender), each in runs.items() if of == name]
    for place, (contender, figures) in enumerate(found):
        ours = contender == FAIRLEAD
        axes.scatter(
            [mean(each.pod_hours for each in figures)],
            [max(_LEAST, 100 * mean(each.late_share for each in figures))],
            label=contender,
            marker=_MARKS[place % len(_MARKS)],
            c="tab:green" if ours else "tab:gray",
            alpha=1.0 if ours else 0.3 + 0.6 * place / len(found),
            s=60 if ours else 28,
            zorder=3 if ours else 2,
        )
    axes.axhline(100 * LATE_MOST, color="tab:red", linestyle=":", linewidth=1)
    axes.set_yscale("log")
    axes.set_ylim(_LEAST / 2, 200)
    axes.set_xlim(left=0)
    axes.grid(color="0.92", zorder=1)
    axes.set_title(name, fontsize=9)
    axes.set_xlabel("pod-hours", fontsize=8)
    axes.set_ylabel("late jobs, %", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
