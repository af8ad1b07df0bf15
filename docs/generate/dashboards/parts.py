"""What a dashboard is made of, as values: Grafana's own words are in `grafana` alone."""

from dataclasses import dataclass
from enum import Enum, auto

TAG = "fairlead"
"""Every dashboard has it, and so each links to all others."""
RUNBOOKS = "docs/runbooks"
"""Where runbooks are; the chart puts the address there that its values name."""

Steps = tuple[tuple[float | None, str], ...]
"""From which value on a colour holds; the first one holds below all others."""


class Look(Enum):
    """How a panel shows its answers."""

    NUMBER = auto()
    """The last value, large, before a background that tells good from bad."""
    LINES = auto()
    STACK = auto()
    """Areas upon each other: what they make together is what counts."""
    BARS = auto()
    """The last value of each series, the longest bar first."""
    SPANS = auto()
    """When something was the case: a bar of time for each series."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question to Prometheus; its answers are called by their labels."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture.

    Args:
        title: What it shows, in a few words; no two of a dashboard share it.
        about: What it shows, in a sentence or two.
        act: What a person does when it looks bad.
        unit: Grafana's name of the unit.
        queries: At least one.
        steps: What is green, orange and red; a graph shows them as lines.
        runbook: The alert's name whose page says more; empty: none does.
        see: The dashboard, by its uid, that shows the parts; empty: none does.
        words: What is said in the place of a value.
        empty: What is said when there is no data, where that is no fault.
        lowest, highest: Where the axis begins and ends; none: where the data does.
        step: The shortest time between two points, where more of them cost too much.
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
    """Panels side by side, all of one width: 1, 2, 3, 4, 6 or 8 of them."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A variable: what its values are asked for with, or the values themselves.

    Args:
        name: What queries call it.
        label: What people read.
        about: What choosing does.
        series: The series that has the label; empty: `values` are all there are.
        label_name: The label; empty: the variable's name.
        values: The values when they are not asked for; the first one is chosen.
        many: Whether several, or all, may be chosen.
        chosen: What is chosen at first; empty: all, or the first.
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
    """What is marked in every graph at the moment that it happened."""

    name: str
    expr: str
    title: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard. Its first row tells at a glance whether something is wrong."""

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
    """Return steps in which what is below `red` is red, and what is below `orange` orange."""
    return ((None, "red"), (red, "orange"), (orange, "green"))


def bad_from(red: float) -> Steps:
    """Return steps without a grey zone: green, and red from there on."""
    return ((None, "green"), (red, "red"))


def odd_from(orange: float) -> Steps:
    """Return steps for what is worth a look and no fault: green, and orange from there on."""
    return ((None, "green"), (orange, "orange"))
