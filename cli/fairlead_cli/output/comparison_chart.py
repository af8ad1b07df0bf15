"""The picture of a prediction: each tenant's share and waits under both policies."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure

from fairlead.inspection import formats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairlead_scheduler.simulation.simulation_report import (
        Side,
        Sides,
        SimulationReport,
        TenantComparison,
    )

_OLD, _NEW = "tab:gray", "tab:green"
_WAIT_LOWEST_SECONDS = 0.001
_NAME_LONGEST = 32


def draw(path: Path, made: "SimulationReport", new: str) -> None:
    """Draw it into an SVG or PNG; twice is the same. `new` is the new policy's name."""
    changes: list[TenantComparison | Sides] = [*made["tenants"]]
    names = [_name(f"{each['queue']}/{each['tenant']}") for each in made["tenants"]]
    if made["other"] is not None:
        changes.append(made["other"])
        names.append(f"{made['other']['tenants']:,} others")
    figure = Figure(figsize=(10, 1.6 + 0.3 * len(changes)), layout="constrained")
    share, half, most = figure.subplots(1, 3, sharey=True)
    _panel(share, changes, names, "share of the slots in use, %", _percent)
    _panel(half, changes, names, "wait p50, seconds", lambda s: _wait(s["wait_p50_seconds"]))
    _panel(most, changes, names, "wait p99, seconds", lambda s: _wait(s["wait_p99_seconds"]))
    for axes in (half, most):
        axes.set_xscale("log")
    share.set_xlim(left=0)
    share.invert_yaxis()
    share.legend(fontsize=8)
    version = made["old"]["version"]
    old = "no policy" if version is None else f"version {version}"
    figure.suptitle(f"{old} and {_name(new)}: {made['simulated_seconds']:.3g} s simulated")
    # Letters stay letters, and names are not read as formulas.
    with rc_context(
        {"svg.hashsalt": "fairlead", "svg.fonttype": "none", "text.parse_math": False}
    ):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})


def _panel(
    axes: "Axes",
    changes: "list[TenantComparison | Sides]",
    names: list[str],
    title: str,
    value: "Callable[[Side], float | None]",
) -> None:
    places = list(range(len(changes)))
    for place, each in enumerate(changes):
        ends = [end for end in (value(each["old"]), value(each["new"])) if end is not None]
        axes.plot(ends, [place] * len(ends), color="0.8", linewidth=1, zorder=1)
    for label, colour, sides in (
        ("old", _OLD, [each["old"] for each in changes]),
        ("new", _NEW, [each["new"] for each in changes]),
    ):
        shown = [
            (found, place)
            for place, side in enumerate(sides)
            if (found := value(side)) is not None
        ]
        axes.scatter(
            [found for found, _ in shown],
            [place for _, place in shown],
            c=colour,
            s=28,
            zorder=2,
            label=label,
        )
    axes.set_yticks(places, names)
    axes.set_xlabel(title, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _percent(side: "Side") -> float:
    return 100 * side["share"]


def _wait(seconds: float | None) -> float | None:
    return None if seconds is None else max(_WAIT_LOWEST_SECONDS, seconds)


def _name(text: str) -> str:
    said = formats.printable(text)
    return said if len(said) <= _NAME_LONGEST else said[: _NAME_LONGEST - 1] + "…"
