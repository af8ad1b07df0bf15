"""Query a Prometheus for the series of a panel."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict, cast

import urllib3

_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_LABEL = re.compile(r"{{\s*(\w+)\s*}}")


@dataclass(frozen=True, slots=True)
class Line:
    """One series of an answer: its legend, and its points as seconds and values."""

    legend: str
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float:
        """The last value."""
        return self.points[-1][1]


class _Series(TypedDict):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class Refused(Exception):
    """Prometheus refused a query; the text is its error."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a query with its variables filled in.

    Raises:
        KeyError: a variable has none.
    """
    return _VARIABLE.sub(lambda found: values[found[1]], text)


def legend(template: str, labels: Mapping[str, str]) -> str:
    """Return the legend of a series; a missing label is empty."""
    return _LABEL.sub(lambda found: labels.get(found[1], ""), template).strip()


def over(
    url: str, expr: str, template: str, *, start: float, end: float, step: float
) -> tuple[Line, ...]:
    """Return the series of a query over a time, without points that are not numbers.

    Args:
        url: Where Prometheus is, such as `http://127.0.0.1:9090`.
        expr: The query, its variables filled.
        template: The legend of its series.
        start: Since when, in seconds since 1970.
        end: Until when.
        step: Seconds between two points.

    Raises:
        Refused: Prometheus refuses the query.
    """
    asked = {"query": expr, "start": f"{start}", "end": f"{end}", "step": f"{step}"}
    answer = urllib3.request("POST", f"{url}/api/v1/query_range", fields=asked, timeout=30)
    said = json.loads(answer.data)
    if said["status"] != "success":
        raise Refused(f"{said['error']}: {expr}")
    found = cast("list[_Series]", said["data"]["result"])
    lines = (
        Line(
            legend(template, each["metric"]),
            tuple(
                (at, number) for at, value in each["values"] if _is_one(number := float(value))
            ),
        )
        for each in found
    )
    return tuple(line for line in lines if line.points)


def torn(
    points: tuple[tuple[float, float], ...], step: float
) -> tuple[tuple[float, float], ...]:
    """Return points with a NaN wherever one or more of them are missing.

    The values there are unknown, so no line may cross the gap.

    Args:
        points: At least one, the oldest first.
        step: Seconds between two of them.
    """
    found = [points[0]]
    for before, after in pairwise(points):
        if after[0] - before[0] > 1.5 * step:
            found.append((before[0] + step, math.nan))
        found.append(after)
    return tuple(found)


def _is_one(value: float) -> bool:
    return math.isfinite(value)
