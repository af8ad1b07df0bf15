"""How a program makes metrics from its table of series, and those that every program has.

Each program has a registry of its own, so that two of them in one process never share a series.
"""

from collections.abc import Generator, Mapping, Sequence
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fairlead.metrics.series import BUILD_INFO, LEADER, LEADER_TRANSITIONS, Series


def kinds_of(allowlist: str) -> frozenset[str]:
    """Return the kinds in a comma-separated setting; none: each kind has its own label."""
    return frozenset(each.strip() for each in allowlist.split(",") if each.strip())


def new_registry(program: str) -> CollectorRegistry:
    """Return a registry with the process's own series and `fairlead_build_info`."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    gauge(BUILD_INFO, registry).labels(program, version("fairlead")).set(1)
    return registry


def counter(series: Series, registry: CollectorRegistry) -> Counter:
    """Make a counter from its description."""
    assert series.type == "counter", series.name
    return Counter(series.full_name, series.help, series.labels, registry=registry)


def gauge(series: Series, registry: CollectorRegistry) -> Gauge:
    """Make a gauge from its description."""
    assert series.type == "gauge", series.name
    return Gauge(series.full_name, series.help, series.labels, registry=registry)


def histogram(series: Series, registry: CollectorRegistry) -> Histogram:
    """Make a histogram from its description."""
    assert series.type == "histogram", series.name
    return Histogram(
        series.full_name,
        series.help,
        series.labels,
        registry=registry,
        buckets=series.bounds,
    )


class Leadership:
    """Whether a process is the leader, and how often it has become it.

    Args:
        program: `scheduler` or `autoscaler`: each has a leader of its own.
        registry: where the series live.
    """

    def __init__(self, program: str, registry: CollectorRegistry) -> None:
        self._leads = gauge(LEADER, registry).labels(program)
        self._transitions = counter(LEADER_TRANSITIONS, registry).labels(program)

    def begin(self) -> None:
        """Show that this process is the leader from now on."""
        self._leads.set(1)
        self._transitions.inc()

    def end(self) -> None:
        """Show that it is not the leader any more; a repeat changes nothing."""
        self._leads.set(0)


class Rows:
    """Gauges that share their labels; label values that are not shown again vanish."""

    def __init__(self, *gauges: Gauge) -> None:
        self._gauges = gauges
        self._shown: frozenset[tuple[str, ...]] = frozenset()

    def show(self, rows: Mapping[tuple[str, ...], Sequence[float]]) -> None:
        """Show these rows, each with one value per gauge, and no others."""
        for labels in self._shown - rows.keys():
            for gauge in self._gauges:
                gauge.remove(*labels)
        for labels, values in rows.items():
            for gauge, value in zip(self._gauges, values, strict=True):
                gauge.labels(*labels).set(value)
        self._shown = frozenset(rows)

    def __contains__(self, labels: tuple[str, ...]) -> bool:
        """Return whether there is such a row."""
        return labels in self._shown


class OptionalGauges(Collector):
    """Gauges without labels that are exported only while they have a value.

    A zero in place of an unknown value would be wrong, and could trigger an alert.
    """

    def __init__(self, registry: CollectorRegistry, *series: Series) -> None:
        self._series = series
        self._values: dict[str, float] = {}
        registry.register(self)

    def show(self, series: Series, value: float) -> None:
        """Show a value, from any thread."""
        self._values[series.name] = value

    def hide(self) -> None:
        """Remove all values."""
        self._values.clear()

    def collect(self) -> Generator[GaugeMetricFamily]:
        """Yield those that have a value."""
        for series in self._series:
            value = self._values.get(series.name)
            if value is not None:
                yield GaugeMetricFamily(series.full_name, series.help, value=value)
