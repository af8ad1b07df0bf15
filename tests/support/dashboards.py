"""Dashboards as their files have them: their queries, with values for what Grafana fills in."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.support.chart import CHART, Json, Object, at

PATHS = sorted((CHART / "files/dashboards").glob("*.json"))
TIMES = {
    "__rate_interval": "10s",
    "__interval": "1s",
    "__range": "60s",
    "__range_s": "60",
    "__interval_ms": "1000",
}
"""For a Prometheus that scrapes every second, and a look at the last minute."""
_NAME = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
_SELECTOR = re.compile(r"""\w+\{(?:[^}"]|"[^"]*")*\}""")
_LABEL_VALUES = re.compile(r"label_values\((.*),\s*(\w+)\)", re.DOTALL)
_EVERYTHING = ".+"

LabelValue = Callable[[str, str], str]
"""Returns a value that a label has in the series of a selector."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a dashboard."""

    dashboard: str
    panel: str
    ref: str
    expr: str

    @property
    def key(self) -> tuple[str, str, str]:
        """By which an exception names it."""
        return (self.dashboard, self.panel, self.ref)


def queries(path: Path) -> tuple[Query, ...]:
    """Return every query of a dashboard's panels, those inside of rows too."""
    board = _board(path)
    return tuple(
        Query(path.name, str(panel.get("title", "")), str(target["refId"]), str(target["expr"]))
        for panel in _panels(board.get("panels"))
        for target in cast("list[Object]", panel.get("targets", []))
        if "expr" in target
    )


def annotations(path: Path) -> tuple[str, ...]:
    """Return the queries of a dashboard's annotations."""
    listed = cast("list[Object]", at(_board(path), "annotations", "list") or [])
    found = [each.get("expr") or at(each, "target", "expr") for each in listed]
    return tuple(str(expr) for expr in found if expr)


def variables(path: Path, label_value: LabelValue) -> dict[str, str]:
    """Return a value for each of a dashboard's variables."""
    values: dict[str, str] = dict(TIMES)
    for each in cast("list[Object]", at(_board(path), "templating", "list") or []):
        values[str(each["name"])] = _value(each, values, label_value)
    return values


def filled(expr: str, values: Mapping[str, str]) -> str:
    """Return a query with values for its variables.

    Raises:
        KeyError: it names one that there is not.
    """
    return _NAME.sub(lambda match: values[match[1] or match[2]], expr)


def without_zero(expr: str) -> str:
    """Return a query that says nothing where it finds nothing, in place of 0."""
    return expr.replace(" or vector(0)", "")


def selectors(expr: str) -> tuple[str, ...]:
    """Return the series that a query asks for, each with what is asked of its labels."""
    return tuple(_SELECTOR.findall(expr))


def _value(variable: Object, values: Mapping[str, str], label_value: LabelValue) -> str:
    if variable.get("includeAll"):
        return str(variable.get("allValue") or _EVERYTHING)
    asked = variable.get("query")
    text = str(at(asked, "query") if isinstance(asked, dict) else asked or "")
    match = _LABEL_VALUES.fullmatch(text.strip())
    if variable.get("type") == "query" and match is not None:
        return label_value(filled(match[1], values), match[2])
    current = at(variable, "current", "value")
    return str(current or text.partition(",")[0])


def _panels(listed: Json) -> Iterator[Object]:
    for panel in cast("list[Object]", listed or []):
        yield panel
        yield from _panels(panel.get("panels"))


def _board(path: Path) -> Object:
    return cast("Object", json.loads(path.read_text("utf-8")))
