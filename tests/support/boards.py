"""The dashboards as committed: their panels, their queries, and the series that there are."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from docs.generate.metrics import ROOMS
from tests.support import tree
from tests.support.chart import Json, Object, at

FOLDER = tree.ROOT / "charts/fairlead/files/dashboards"
FILES = sorted(FOLDER.glob("*.json"))

_SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
_SELECTOR = re.compile(r"\b(fairlead_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')

SCRAPED = frozenset({"namespace", "job", "instance", "pod"})
"""Labels that Prometheus gives to everything that it scrapes."""


class Series(NamedTuple):
    """What is known of a series."""

    kind: str
    labels: frozenset[str]
    by_leader: bool


class Selector(NamedTuple):
    """One series as a query asks for it."""

    name: str
    labels: frozenset[str]
    start: int


def load(path: Path) -> Object:
    """Return a dashboard."""
    return cast("Object", json.loads(path.read_text("utf-8")))


def listed(found: Json, *path: str | int) -> list[Object]:
    """Return the list under a path; an empty one where there is none."""
    return cast("list[Object]", at(found, *path) or [])


def panels(board: Object) -> list[Object]:
    """Return the panels that are no headings."""
    return [each for each in listed(board, "panels") if each["type"] != "row"]


def targets(board: Object) -> list[Object]:
    """Return the queries of all panels."""
    return [each for panel in panels(board) for each in listed(panel, "targets")]


def queries(board: Object) -> list[str]:
    """Return what panels and annotations ask for."""
    marks = listed(board, "annotations", "list")
    return [str(each["expr"]) for each in (*targets(board), *marks)]


def variables(board: Object) -> list[Object]:
    """Return the dashboard's variables."""
    return listed(board, "templating", "list")


def selectors(query: str) -> Iterator[Selector]:
    """Yield every series of a query with the labels that are asked for."""
    for found in _SELECTOR.finditer(query):
        labels = frozenset(_MATCHER.findall(found[2] or ""))
        yield Selector(found[1], labels, found.start())


@cache
def reference() -> dict[str, Series]:
    """Return every series of the programs' own tables by the name that Prometheus shows.

    A name that several programs show has the labels of all of them, and is one of a leader's if
    it is so in each.
    """
    shown: dict[str, Series] = {}
    for room in ROOMS.values():
        for each in room:
            for suffix in _SUFFIXES[each.type]:
                name = f"{each.full_name}{suffix}"
                labels = {*each.labels, *(("le",) if suffix == "_bucket" else ())}
                before = shown.get(name, Series(each.type, frozenset(), by_leader=True))
                shown[name] = Series(
                    each.type,
                    before.labels | labels,
                    by_leader=before.by_leader and each.by_leader,
                )
    return shown
