"""What `/metrics` shows of a worker: its children's counts, added up, and the parent's own.

Children count by themselves and send what grew; a dead child's counts stay. The series of
children are named once, in `tally`.
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

from fairlead.metrics import PREFIX, kinds_of, new_registry
from fairlead_worker import tally, wire
from fairlead_worker.handback import HandBacks
from fairlead_worker.lease import LeaseThread
from fairlead_worker.ledger import Entry
from fairlead_worker.orders import Orders

Labels = tuple[str, ...]


class Exposition(Collector):
    """Adds up tallies and shows them beside what the parent knows.

    Args:
        orders: the worker's settings.
        lease: counts renewals.
        handbacks: counts interrupted attempts.
        running: what runs now; asked by the thread that answers a request.
    """

    def __init__(
        self,
        orders: Orders,
        lease: LeaseThread,
        handbacks: HandBacks,
        running: Callable[[], tuple[Entry, ...]],
    ) -> None:
        self._orders = orders
        self._lease = lease
        self._handbacks = handbacks
        self._running = running
        self._counters: dict[str, dict[Labels, float]] = {
            name: {} if series.labels else {(): 0} for name, series in tally.COUNTERS.items()
        }
        self._histograms: dict[str, dict[Labels, tuple[tuple[int, ...], float]]] = {
            name: {} for name in tally.HISTOGRAMS
        }
        self._told_us: dict[int, float] = {}
        self._kinds = kinds_of(orders.metrics_kind_allowlist)
        handbacks.tell = self.add
        self.lease_expirations = 0
        self.child_deaths = 0
        self.stopping_since: float | None = None
        self.marked_since: float | None = None
        self.registry = new_registry("worker")
        self.registry.register(self)

    def hear(self, grown: wire.Growth, pid: int) -> None:
        """Add what a child has counted: everything that had started in it by now."""
        self._told_us[pid] = monotonic() * 1e6
        self.add(grown)

    def bury(self, pid: int, started: Iterable[Entry]) -> list[int]:
        """Return the tokens, of what ran in a child that died, whose start it had not told."""
        told_us = self._told_us.pop(pid, 0.0)
        return [entry.token for entry in started if entry.started_us > told_us]

    def add(self, grown: wire.Growth) -> None:
        """Add what was counted."""
        for counted in grown.counters:
            values, labels = self._counters[counted.series], self._allowed(counted.labels)
            values[labels] = values.get(labels, 0) + counted.by
        for spread in grown.spreads:
            kept = self._histograms[spread.series]
            labels = self._allowed(spread.labels)
            counts, total = kept.get(labels, ((0,) * len(spread.buckets), 0.0))
            summed = tuple(a + b for a, b in zip(counts, spread.buckets, strict=True))
            kept[labels] = (summed, total + spread.sum)

    def _allowed(self, labels: Labels) -> Labels:
        """Return labels with a kind that is to be told apart; the kind is the second one."""
        if not self._kinds or len(labels) < 2 or labels[1] in self._kinds:
            return labels
        return (labels[0], tally.OTHER, *labels[2:])

    def collect(self) -> Generator[Metric]:
        """Yield every series as it is now."""
        for name, values in self._counters.items():
            series = tally.COUNTERS[name]
            yield _counter(name, series.about, series.labels, dict(values))
        for name, spreads in self._histograms.items():
            yield _histogram(name, tally.HISTOGRAMS[name], dict(spreads))
        yield from self._of_the_lease()
        yield from self._of_the_slots()
        yield from self._of_the_end()

    def _of_the_lease(self) -> Generator[Metric]:
        about = "Renewals of the worker's lease, by result: renewed, dead or failed."
        results: dict[Labels, float] = {
            (result,): count for result, count in self._lease.renewals.items()
        }
        yield _counter("lease_renewals_total", about, ("result",), results)
        about = "Leases that were lost, so that the worker ended its own handlers."
        yield _counter("leases_lost_total", about, (), {(): self.lease_expirations})

    def _of_the_slots(self) -> Generator[Metric]:
        pool, running = ("pool",), self._running()
        label = (self._orders.pool,)
        slots = float(self._lease.slots)
        yield _gauge("worker_slots", "Jobs that may run at a time.", pool, {label: slots})
        yield _gauge(
            "worker_slots_busy", "Jobs that run now.", pool, {label: float(len(running))}
        )
        now_us = monotonic() * 1e6
        longest = max((now_us - entry.started_us for entry in running), default=0.0) / 1e6
        about = "How long the oldest job that runs has run."
        yield _gauge("job_longest_running_seconds", about, (), {(): longest})

    def _of_the_end(self) -> Generator[Metric]:
        about = "Attempts that did not end by themselves, by how they were handed back."
        reasons: dict[Labels, float] = {
            (reason,): count for reason, count in dict(self._handbacks.interrupted).items()
        }
        yield _counter("jobs_interrupted_total", about, ("reason",), reasons)
        about = "Child processes that died, or that were killed for a job that did not stop."
        yield _counter("child_deaths_total", about, (), {(): self.child_deaths})
        since = self.stopping_since if self.marked_since is None else self.marked_since
        draining = 0.0 if since is None else 1.0
        lasted = 0.0 if since is None else monotonic() - since
        about = "Whether it takes no more jobs: it is stopping, or its pod is marked."
        yield _gauge("worker_draining", about, (), {(): draining})
        about = "How long it has taken no more jobs."
        yield _gauge("drain_duration_seconds", about, (), {(): lasted})


def _counter(name: str, about: str, labels: Labels, values: Mapping[Labels, float]) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}_{name}", about, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _gauge(name: str, about: str, labels: Labels, values: Mapping[Labels, float]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", about, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _histogram(
    name: str, series: tally.Series, spreads: dict[Labels, tuple[tuple[int, ...], float]]
) -> Metric:
    family = HistogramMetricFamily(f"{PREFIX}_{name}", series.about, labels=series.labels)
    for key, (counts, total) in spreads.items():
        family.add_metric(key, _buckets(series.bounds, counts), total)
    return family


def _buckets(bounds: tuple[float, ...], counts: Iterable[int]) -> list[tuple[str, float]]:
    """Return cumulated counts by upper bound, as the text format has them."""
    uppers = [str(float(bound)) for bound in bounds]
    return list(zip([*uppers, "+Inf"], accumulate(counts), strict=True))
