"""The parts of a dashboard as values; only the module `grafana` knows Grafana's JSON."""

from dataclasses import dataclass
from enum import Enum, auto

TAG = "fairlead"
"""The tag of every dashboard, by which each links to all others."""
RUNBOOKS = "docs/runbooks"
"""Where runbooks are; the chart replaces it by the address in its values."""

Steps = tuple[tuple[float | None, str], ...]
"""The value from which each colour applies; the first colour applies below all others."""


class Look(Enum):
    """How a panel shows its series."""

    NUMBER = auto()
    """The last value, large, on a background whose colour tells good from bad."""
    LINES = auto()
    STACK = auto()
    """Stacked areas, where the total matters."""
    BARS = auto()
    """The last value of each series, the longest bar first."""
    SPANS = auto()
    """A bar of time for each series, for as long as it exists."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query to Prometheus; `legend` names its series by their labels."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Args:
        title: What it shows, in a few words; no two of a dashboard share it.
        about: What it shows, in a sentence or two.
        act: What to do when it looks bad.
        unit: Grafana's name of the unit.
        queries: At least one.
        steps: The values from which it is green, orange or red; a graph shows them as lines.
        runbook: The alert whose page says more; empty: none.
        see: The uid of the dashboard with the details; empty: none.
        words: Texts to show instead of certain values.
        empty: The text to show without data, if that is no fault.
        lowest, highest: Where the axis begins and ends; None: where the data does.
        step: The shortest time between two points, if more points cost too much.
    """

    title: str
    about: str
    act: str
    unit: str
    queries: tuple[Query, ...]
    look: Look = Look.LINES
    steps: Steps = ()
    runbook: str = ""
    see: str = ""
    words: tuple[tuple[float, str], ...] = ()
    empty: str = ""
    lowest: float | None = 0
    highest: float | None = None
    decimals: int | None = None
    step: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels next to each other, of equal width: 1, 2, 3, 4, 6 or 8 of them."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A variable, with the query for its values or the values themselves.

    Args:
        name: Its name in queries.
        label: Its label in Grafana.
        about: What selecting a value does.
        series: The series that has the label; empty: use `values`.
        label_name: The label; empty: the variable's name.
        values: The values if they are not queried; the first one is the default.
        many: Whether several, or all, may be selected.
        chosen: The default; empty: all, or the first.
    """

    name: str
    label: str
    about: str
    series: str = ""
    label_name: str = ""
    values: tuple[str, ...] = ()
    many: bool = True
    chosen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event that is annotated in every graph."""

    name: str
    expr: str
    title: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard. Its first row shows whether something is wrong."""

    uid: str
    title: str
    about: str
    choices: tuple[Choice, ...]
    events: tuple[Event, ...]
    rows: tuple[Row, ...]


def bad_above(orange: float, red: float) -> Steps:
    """Return steps from green over orange to red."""
    return ((None, "green"), (orange, "orange"), (red, "red"))


def bad_below(orange: float, red: float) -> Steps:
    """Return steps that are red below `red` and orange below `orange`."""
    return ((None, "red"), (red, "orange"), (orange, "green"))


def bad_from(red: float) -> Steps:
    """Return steps that are green below `red`, and red from there on."""
    return ((None, "green"), (red, "red"))


def odd_from(orange: float) -> Steps:
    """Return steps for a notice that is no fault: green, and orange from `orange` on."""
    return ((None, "green"), (orange, "orange"))
