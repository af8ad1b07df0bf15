"""The demo's picture: each tenant's progress over time, and what was killed when."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.demo.report import Wait, small_tenants

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALL_COLOUR = "tab:green"
_EVENT_COLOUR = "tab:red"
_POINTS_MAX = 60  # of one line; a picture in a page should load at once


def draw(
    path: Path,
    waited: Sequence[Wait],
    totals: Mapping[str, int],
    events: Sequence[tuple[float, str]],
) -> None:
    """Draw each tenant's progress over time, and what was killed when, into an SVG or PNG."""
    from matplotlib import rc_context  # slow to import, and needed at the end only
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    small = small_tenants(totals)
    for name, total in totals.items():
        ends = [w.ended_seconds for w in waited if w.tenant == name and w.kind == "measure"]
        _draw_tenant(axes, name, ends, total, is_small=name in small)
    axes.plot([], [], color=_SMALL_COLOUR, label=f"{len(small)} small packages")
    for seconds, what in events:
        axes.axvline(seconds, color=_EVENT_COLOUR, linestyle=":", linewidth=1)
        axes.annotate(
            what, (seconds, 2), rotation=90, fontsize=7, color=_EVENT_COLOUR, ha="right"
        )
    axes.set_xlabel("seconds since the first jobs were inserted")
    axes.set_ylabel("% of the package's files measured")
    axes.set_title("Small tenants finish early beside a flood")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 102)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, loc="lower right")
    # The same run gives the same file, and letters stay letters.
    with rc_context({"svg.hashsalt": "fairlead", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def _draw_tenant(
    axes: "Axes", name: str, ends: Sequence[float], total: int, *, is_small: bool
) -> None:
    """Draw the share of one tenant's jobs that had ended, against when they did."""
    step = -(-len(ends) // _POINTS_MAX) or 1
    shown = sorted({*range(step - 1, len(ends), step), *range(len(ends))[-1:]})
    axes.step(
        [0.0, *(ends[index] for index in shown)],
        [0.0, *(100 * (index + 1) / total for index in shown)],
        where="post",
        linewidth=0.8 if is_small else 1.8,
        color=_SMALL_COLOUR if is_small else None,
        alpha=0.35 if is_small else 0.9,
        label="" if is_small else name,
    )
