"""The series that a worker's `/metrics` shows: its children's, added up, and the parent's own.

Children count by themselves and send what grew; a dead child's counts stay. `metrics.series`
names all series.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from itertools import accumulate
from time import monotonic

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from fairlead.metrics.registry import kinds_of, new_registry
from fairlead.metrics.series import Series
from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import AttemptEntry
from fairlead_worker.metrics import series
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.lease_thread import LeaseThread

Labels = tuple[str, ...]


class MetricsPage(Collector):
    """Adds up the children's counts and shows them with the parent's own.

    Args:
        config: the worker's settings.
        lease: counts renewals.
        hand_backs: counts interrupted attempts.
        running: returns what runs now; called by the thread that answers a request.
    """

    def __init__(
        self,
        config: WorkerConfig,
        lease: LeaseThread,
        hand_backs: HandBacks,
        running: Callable[[], tuple[AttemptEntry, ...]],
    ) -> None:
        self._config = config
        self._lease = lease
        self._hand_backs = hand_backs
        self._running = running
        self._counters: dict[str, dict[Labels, float]] = {
            each.name: {} if each.labels else {(): 0}
            for each in series.OF_CHILDREN
            if each.type == "counter"
        }
        self._histograms: dict[str, dict[Labels, tuple[tuple[int, ...], float]]] = {
            each.name: {} for each in series.OF_CHILDREN if each.type == "histogram"
        }
        self._reported_us: dict[int, float] = {}
        self._kinds = kinds_of(config.metrics_kind_allowlist)
        hand_backs.report_growth = self.add
        self.lease_expirations = 0
        self.child_deaths = 0
        self.breakers_open = self.breaker_openings = 0
        self.stopping_since: float | None = None
        self.marked_since: float | None = None
        self.registry = new_registry("worker")
        self.registry.register(self)

    def add_from_child(self, grown: messages.MetricsGrowth, pid: int) -> None:
        """Add what a child has counted: everything that had started in it by now."""
        self._reported_us[pid] = monotonic() * 1e6
        self.add(grown)

    def child_died(self, pid: int, started: Iterable[AttemptEntry]) -> list[int]:
        """Return the tokens of what ran in a dead child and whose start it had not reported."""
        reported_us = self._reported_us.pop(pid, 0.0)
        return [entry.token for entry in started if entry.started_us > reported_us]

    def add(self, grown: messages.MetricsGrowth) -> None:
        """Add what was counted."""
        for counted in grown.counters:
            values, labels = self._counters[counted.series], self._allowed(counted.labels)
            values[labels] = values.get(labels, 0) + counted.by
        for spread in grown.histograms:
            known = self._histograms[spread.series]
            labels = self._allowed(spread.labels)
            counts, total = known.get(labels, ((0,) * len(spread.buckets), 0.0))
            summed = tuple(a + b for a, b in zip(counts, spread.buckets, strict=True))
            known[labels] = (summed, total + spread.sum)

    def _allowed(self, labels: Labels) -> Labels:
        """Return labels with an allowed kind, which is the second label, or `other`."""
        if not self._kinds or len(labels) < 2 or labels[1] in self._kinds:
            return labels
        return (labels[0], series.OTHER, *labels[2:])

    def collect(self) -> Generator[Metric]:
        """Yield every series as it is now."""
        for each in series.OF_CHILDREN:
            if each.type == "counter":
                yield _counter(each, dict(self._counters[each.name]))
            else:
                bounds = series.bounds(each, self._config.metrics_wait_bounds)
                yield _histogram(each, bounds, dict(self._histograms[each.name]))
        yield from self._of_the_lease()
        yield from self._of_the_slots()
        yield from self._of_the_end()

    def _of_the_lease(self) -> Generator[Metric]:
        results: dict[Labels, float] = {
            (result,): count for result, count in self._lease.renewals.items()
        }
        yield _counter(series.LEASE_RENEWALS, results)
        yield _counter(series.LEASES_LOST, {(): self.lease_expirations})

    def _of_the_slots(self) -> Generator[Metric]:
        running, pool = self._running(), (self._config.pool,)
        yield _gauge(series.WORKER_SLOTS, {pool: float(self._lease.slots)})
        yield _gauge(series.WORKER_SLOTS_BUSY, {pool: float(len(running))})
        now_us = monotonic() * 1e6
        longest = max((now_us - entry.started_us for entry in running), default=0.0) / 1e6
        yield _gauge(series.LONGEST_RUNNING, {(): longest})

    def _of_the_end(self) -> Generator[Metric]:
        reasons: dict[Labels, float] = {
            (reason,): count for reason, count in dict(self._hand_backs.interrupted).items()
        }
        yield _counter(series.JOBS_INTERRUPTED, reasons)
        yield _counter(series.CHILD_DEATHS, {(): self.child_deaths})
        yield _gauge(series.CRASH_BREAKERS_OPEN, {(): float(self.breakers_open)})
        yield _counter(series.CRASH_BREAKER_OPENINGS, {(): self.breaker_openings})
        since = self.stopping_since if self.marked_since is None else self.marked_since
        yield _gauge(series.WORKER_DRAINING, {(): 0.0 if since is None else 1.0})
        lasted = 0.0 if since is None else monotonic() - since
        yield _gauge(series.DRAIN_DURATION, {(): lasted})


def _counter(named: Series, values: Mapping[Labels, float]) -> Metric:
    family = CounterMetricFamily(named.full_name, named.help, labels=named.labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _gauge(named: Series, values: Mapping[Labels, float]) -> Metric:
    family = GaugeMetricFamily(named.full_name, named.help, labels=named.labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _histogram(
    named: Series,
    bounds: tuple[float, ...],
    spreads: Mapping[Labels, tuple[tuple[int, ...], float]],
) -> Metric:
    family = HistogramMetricFamily(named.full_name, named.help, labels=named.labels)
    for key, (counts, total) in spreads.items():
        family.add_metric(key, _buckets(bounds, counts), total)
    return family


def _buckets(bounds: tuple[float, ...], counts: Iterable[int]) -> list[tuple[str, float]]:
    """Return cumulated counts by upper bound, as the text format has them."""
    uppers = [str(float(bound)) for bound in bounds]
    return list(zip([*uppers, "+Inf"], accumulate(counts), strict=True))
