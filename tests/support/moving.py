"""Which series of a program have moved since a test looked first."""

from collections.abc import Callable, Iterable, Mapping
from math import isnan

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fairlead.metrics.series import Series
from tests.support.waiting import until

Samples = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]


def of_page(text: str) -> Samples:
    """Return the samples of a page, by their names and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def page_of(registry: CollectorRegistry) -> str:
    """Return what a registry's page says."""
    return generate_latest(registry).decode()


def names(series: Series) -> frozenset[str]:
    """Return what the samples are called that say how often and how much."""
    if series.type == "histogram":
        return frozenset({f"{series.full_name}_count"})
    return frozenset({series.full_name})


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
        found = {key: value for key, value in seen.items() if key[0] in names(series)}
        if series.type == "gauge":
            return any(value != 0 and not isnan(value) for value in found.values())
        return any(value > self._first.get(key, 0) for key, value in found.items())
