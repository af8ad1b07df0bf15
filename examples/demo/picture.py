"""The demo's picture: each tenant's progress over time, and what was killed when."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from examples.demo.report import Wait
from examples.demo.sources import Classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Pen:
    """How the lines of one class of tenants look."""

    colour: str
    width: float
    opacity: float


_SMALL = Pen("tab:green", 0.8, 0.4)
_LARGE = Pen("tab:orange", 1.3, 0.8)
_LARGEST = Pen("tab:blue", 2.2, 1.0)
_EVENT_COLOUR = "tab:red"
_POINTS_MAX = 200  # of one line; a picture in a page should load at once


def draw(
    path: Path,
    waited: Sequence[Wait],
    totals: Mapping[str, int],
    classes: Classes,
    events: Sequence[tuple[float, str]],
) -> None:
    """Draw each tenant's progress over time, and what was killed when, into an SVG or PNG."""
    from matplotlib import rc_context  # slow to import, and needed at the end only
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    small, large = classes.small, classes.large
    for name, total in totals.items():
        ends = [w.ended_seconds for w in waited if w.tenant == name and w.kind == "measure"]
        pen = _SMALL if name in small else _LARGE if name in large else _LARGEST
        _draw_tenant(axes, ends, total, pen)
    for pen, label in (
        (_SMALL, f"{len(small)} small packages, arriving one by one"),
        (_LARGE, f"{len(large)} large packages, there from the start"),
        (_LARGEST, f"{classes.largest}, the largest package"),
    ):
        axes.plot([], [], color=pen.colour, linewidth=pen.width, label=label)
    for seconds, what in events:
        _draw_event(axes, seconds, what)
    axes.set_xlabel("seconds since the first jobs were inserted")
    axes.set_ylabel("% of the tenant's jobs ended")
    axes.set_title("Small tenants finish early beside a flood")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 102)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, loc="lower right")
    # The same run gives the same file, and letters stay letters.
    with rc_context({"svg.hashsalt": "fairlead", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def _draw_tenant(axes: "Axes", ends: Sequence[float], total: int, pen: Pen) -> None:
    """Draw the share of one tenant's jobs that had ended, against when they did."""
    step = -(-len(ends) // _POINTS_MAX) or 1
    shown = sorted({*range(step - 1, len(ends), step), *range(len(ends))[-1:]})
    axes.step(
        [0.0, *(ends[index] for index in shown)],
        [0.0, *(100 * (index + 1) / total for index in shown)],
        where="post",
        linewidth=pen.width,
        color=pen.colour,
        alpha=pen.opacity,
    )


def _draw_event(axes: "Axes", seconds: float, what: str) -> None:
    """Draw a line when something happened, with what it was on white beside it."""
    axes.axvline(seconds, color=_EVENT_COLOUR, linestyle=":", linewidth=1)
    axes.annotate(
        what,
        (seconds, 98),
        xytext=(-3, 0),
        textcoords="offset points",
        rotation=90,
        fontsize=8,
        color=_EVENT_COLOUR,
        ha="right",
        va="top",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )
