"""Which series of a program have moved since a test looked first."""

from collections.abc import Callable, Iterable, Mapping
from math import isnan

from prometheus_client import CollectorRegistry, generate_latest

from fairlead.metrics.series import Series
from tests.support.waiting import until

Samples = Mapping[str, Mapping[str, float]]
"""By name, the values by name and labels as the page has them."""


def of_page(text: str) -> Samples:
    """Return the samples of a page, without the client's parser, which takes most of a core.

    The page is read many times a second.
    """
    samples: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            labelled, _, value = line.rpartition(" ")
            samples.setdefault(labelled.partition("{")[0], {})[labelled] = float(value)
    return samples


def page_of(registry: CollectorRegistry) -> str:
    """Return what a registry's page says."""
    return generate_latest(registry).decode()


def name(series: Series) -> str:
    """Return what the samples are called that say how often or how much."""
    return f"{series.full_name}_count" if series.type == "histogram" else series.full_name


class Movements:
    """What of a room's table has moved.

    A counter or a histogram has when it grew; a gauge when it says something else than nothing.

    Args:
        table: The room's.
        read: Returns the program's page.
    """

    def __init__(self, table: Iterable[Series], read: Callable[[], str]) -> None:
        self._read = read
        self._first = of_page(read())
        self.still = {*table}

    def look(self) -> None:
        """Take note of what has moved by now."""
        seen = of_page(self._read())
        self.still -= {each for each in self.still if self._has_moved(each, seen)}

    def await_all(self, *series: Series, what: str, seconds: float = 30) -> None:
        """Wait until all of these have moved."""

        def moved() -> bool:
            self.look()
            return self.still.isdisjoint(series)

        until(moved, what=what, seconds=seconds)

    def _has_moved(self, series: Series, seen: Samples) -> bool:
        found = seen.get(name(series), {})
        if series.type == "gauge":
            return any(value != 0 and not isnan(value) for value in found.values())
        first = self._first.get(name(series), {})
        return any(value > first.get(key, 0) for key, value in found.items())
