"""Draw every dashboard from the data of a Prometheus, for people without a Grafana.

    python -m docs.generate.dashboards.draw http://127.0.0.1:9090

writes docs/images/dashboard-….png: the panels where Grafana puts them, with their thresholds.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

import argparse
import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from docs.generate.dashboards import BOARDS
from docs.generate.dashboards.answers import Line, filled, over, torn
from docs.generate.dashboards.parts import Board, Look, Panel
from docs.generate.dashboards.shown import coloured, measure, worded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpec

FOLDER = Path(__file__).parents[3] / "docs/images"
PANELS_KEY = "panels"
"""The key under which a picture's file lists its panels."""
_COLUMNS, _POINTS = 24, 60
_LINES_MAX = 8
_WIDTH_INCHES, _TITLE_INCHES, _NUMBER_INCHES, _GRAPH_INCHES = 17.0, 0.35, 0.95, 2.5
_SPACE = {"left": 0.04, "right": 0.99, "top": 0.99, "bottom": 0.03, "wspace": 2, "hspace": 0.3}
"""Fractions of the figure, of a column's width and of a row's height."""
_SMALL = 6
_LEGEND_ROOM = 0.4
"""Fraction of the axis above the drawn values."""
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Window:
    """A Prometheus, a time range and the variables' values."""

    url: str
    start: float
    end: float
    variables: dict[str, str]

    def ask(self, panel: Panel) -> tuple[Line, ...]:
        """Return the series of all queries of a panel."""
        return tuple(
            line
            for query in panel.queries
            for line in over(
                self.url,
                filled(query.expr, self.variables),
                query.legend,
                start=self.start,
                end=self.end,
                step=self.step,
            )
        )

    @property
    def step(self) -> float:
        """Seconds between two points."""
        return max(1.0, (self.end - self.start) / _POINTS)

    def minutes(self, at: float) -> float:
        """Return the minutes from the start to an instant."""
        return (at - self.start) / 60


def draw(path: Path, board: Board, window: Window) -> None:
    """Draw one dashboard into a PNG; the same data gives the same file."""
    heights = [height for row in board.rows for height in (_TITLE_INCHES, _height(row.panels))]
    figure = Figure(figsize=(_WIDTH_INCHES, 1.3 * sum(heights)))
    grid: GridSpec = figure.add_gridspec(
        2 * len(board.rows), _COLUMNS, height_ratios=heights, **_SPACE
    )
    for place, row in enumerate(board.rows):
        _heading(figure.add_subplot(grid[2 * place, :]), row.title)
        width = _COLUMNS // len(row.panels)
        for column, panel in enumerate(row.panels):
            where = grid[2 * place + 1, column * width : (column + 1) * width]
            _panel(figure.add_subplot(where), panel, window)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    with Image.open(drawn) as picture:
        few = picture.convert("RGB").quantize(
            method=Image.Quantize.FASTOCTREE,  # it alone keeps the colour of a thin line
            dither=Image.Dither.NONE,
        )
    info = PngInfo()
    info.add_text(PANELS_KEY, of_panels(board))
    few.save(path, optimize=True, pnginfo=info)


def of_panels(board: Board) -> str:
    """Return the panels of a picture, so that a test can find an outdated one."""
    panels = (panel for row in board.rows for panel in row.panels)
    return "\n".join(f"{panel.title}: {panel.look.name}, {panel.unit}" for panel in panels)


def _height(panels: tuple[Panel, ...]) -> float:
    numbers = all(panel.look is Look.NUMBER for panel in panels)
    return _NUMBER_INCHES if numbers else _GRAPH_INCHES


def _heading(axes: "Axes", title: str) -> None:
    axes.set_axis_off()
    axes.text(0, 0.2, title, fontsize=11, fontweight="bold", transform=axes.transAxes)


def _panel(axes: "Axes", panel: Panel, window: Window) -> None:
    lines = window.ask(panel)
    axes.set_title(panel.title, fontsize=8, loc="left")
    if not lines and panel.look is not Look.NUMBER:
        _nothing(axes, panel)
        return
    match panel.look:
        case Look.NUMBER:
            _number(axes, panel, lines)
        case Look.BARS:
            _bars(axes, panel, lines)
        case Look.SPANS:
            _spans(axes, lines, window)
        case Look.LINES | Look.STACK:
            _graph(axes, panel, lines, window)


def _nothing(axes: "Axes", panel: Panel) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    said = panel.empty or "No data"
    axes.text(0.5, 0.5, said, ha="center", fontsize=8, color="0.4", transform=axes.transAxes)


def _number(axes: "Axes", panel: Panel, lines: tuple[Line, ...]) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    said = dict(panel.words)
    value = lines[0].last if lines else None
    text = panel.empty or "No data"
    if value is not None:
        text = said.get(value) or worded(value, panel.unit, panel.decimals)
    axes.set_facecolor(coloured(panel.steps, value))
    size = 15 if len(text) < 10 else 9 if len(text) < 18 else 6.5
    axes.text(0.5, 0.4, text, ha="center", fontsize=size, transform=axes.transAxes)


def _bars(axes: "Axes", panel: Panel, lines: tuple[Line, ...]) -> None:
    newest = max(line.points[-1][0] for line in lines)
    here = [line for line in lines if line.points[-1][0] == newest]
    shown = sorted(here, key=lambda line: line.last)
    values = [line.last for line in shown]
    axes.barh(range(len(shown)), values, color=[coloured(panel.steps, each) for each in values])
    for place, line in enumerate(shown):
        said = f" {line.legend}: {worded(line.last, panel.unit, panel.decimals)}"
        axes.text(0, place, said, fontsize=_SMALL, va="center")
    axes.set_xlim(left=0)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(False)


def _spans(axes: "Axes", lines: tuple[Line, ...], window: Window) -> None:
    for place, line in enumerate(lines):
        times = [window.minutes(at) for at, _ in line.points]
        axes.scatter(times, [place] * len(times), marker="s", s=30)
        axes.text(0, place + 0.2, f" {line.legend}", fontsize=_SMALL)
    axes.set_yticks([])
    axes.set_ylim(-0.7, len(lines) - 0.3)
    _timed(axes, window)


def _graph(axes: "Axes", panel: Panel, lines: tuple[Line, ...], window: Window) -> None:
    shown = sorted(lines, key=lambda line: -max(value for _, value in line.points))
    if panel.look is Look.STACK:
        _stack(axes, shown, window)
    else:
        for place, line in enumerate(shown):
            name = line.legend if place < _LINES_MAX else None
            points = torn(line.points, window.step)
            since = [window.minutes(at) for at, _ in points]
            axes.plot(since, [value for _, value in points], linewidth=1, label=name)
    bottom, top = axes.get_ylim()
    bottom = bottom if panel.lowest is None else panel.lowest
    top = top if any(value for line in lines for _, value in line.points) else 1.0
    top = top if panel.highest is None else min(top, panel.highest)
    for value, colour in panel.steps:
        if value is not None and value <= top:
            axes.axhline(value, color=colour.removeprefix("dark-"), linestyle=":", linewidth=1)
    axes.set_ylim(bottom, top + _LEGEND_ROOM * (top - bottom))
    _measured(axes, panel.unit, bottom, top)
    axes.legend(fontsize=_SMALL, loc="upper left", frameon=False, ncols=2)
    _timed(axes, window)


def _stack(axes: "Axes", shown: list[Line], window: Window) -> None:
    """Draw stacked areas; a missing point adds nothing."""
    times = [window.start + place * window.step for place in range(_POINTS + 1)]
    found = [
        {round((at - window.start) / window.step): value for at, value in line.points}
        for line in shown
    ]
    axes.stackplot(
        [window.minutes(at) for at in times],
        [[each.get(place, 0.0) for place in range(len(times))] for each in found],
        labels=[line.legend for line in shown[:_LINES_MAX]],
        alpha=0.6,
    )


def _measured(axes: "Axes", unit: str, bottom: float, top: float) -> None:
    """Label round figures on the axis, but none behind the legend."""
    size = measure(max(abs(bottom), abs(top)), unit)
    found = MaxNLocator(_TICKS, steps=[1, 2, 5, 10]).tick_values(bottom / size, top / size)
    ticks = [value * size for value in found if bottom <= value * size <= top * 1.001]
    axes.set_yticks(ticks, [worded(value, unit, None) for value in ticks])


def _timed(axes: "Axes", window: Window) -> None:
    axes.set_xlim(0, window.minutes(window.end))
    axes.set_xlabel("minutes", fontsize=_SMALL)
    axes.tick_params(labelsize=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


def draw_all(
    folder: Path, url: str, *, end: float, minutes: float, rate_interval: str, objective: str
) -> None:
    """Draw every dashboard over the minutes before an instant, in seconds since 1970."""
    variables = dict.fromkeys(("namespace", "job", "queue", "pool", "instance"), ".*")
    variables |= {
        "__rate_interval": rate_interval,
        "__range": f"{minutes * 60:.0f}s",
        "__range_s": f"{minutes * 60:.0f}",
        "objective": objective,
        "target": "0.99",
    }
    window = Window(url, end - minutes * 60, end, variables)
    for name, board in BOARDS.items():
        draw(folder / f"dashboard-{name}.png", board, window)


def main() -> None:
    """Draw every dashboard over the last minutes."""
    parser = argparse.ArgumentParser(description=__doc__, prog="docs.generate.dashboards.draw")
    parser.add_argument("url", help="where Prometheus is, such as http://127.0.0.1:9090")
    parser.add_argument("--minutes", type=float, default=5, help="how many minutes to draw")
    parser.add_argument("--rate-interval", default="15s", help="four times its scrape interval")
    parser.add_argument("--objective", default="30.0", help="a bucket of the wait histogram")
    parser.add_argument(
        "--end", type=float, help="the last instant, in seconds since 1970; default: now"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder to write to")
    given = parser.parse_args()
    draw_all(
        given.folder,
        given.url,
        end=given.end or time.time(),
        minutes=given.minutes,
        rate_interval=given.rate_interval,
        objective=given.objective,
    )


if __name__ == "__main__":
    main()
