"""What a child counts: its series, named once, and how much they grew since the last tally.

Counting is done by two or three threads, a batch at a time, so that a job costs a few
dictionary steps and no call per series. The parent adds up what its children send.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from fairlead_worker.wire import Counted, Spread
from fairlead_worker.wire import Tally as Growth

QUEUES_MAX = 50
KINDS_MAX = 200
OTHER = "other"
"""The label of queues and kinds beyond those numbers: series must stay few."""

Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One series: what it says, its labels, and a histogram's bounds."""

    about: str
    labels: Labels = ()
    bounds: tuple[float, ...] = ()


_QUEUE_AND_KIND = ("queue", "kind")
_SECONDS = (
    0.001,
    0.005,
    0.01,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
    120,
    300,
    900,
    1800,
)

COUNTERS = MappingProxyType(
    {
        "jobs_started_total": Series("Attempts whose handler started.", _QUEUE_AND_KIND),
        "jobs_finished_total": Series(
            "Jobs that ended for good, by outcome.", (*_QUEUE_AND_KIND, "outcome")
        ),
        "attempts_ended_total": Series(
            "Attempts that ended, by how: succeeded, failed, snoozed, returned, released, "
            "cancelled or expired.",
            (*_QUEUE_AND_KIND, "ended_as"),
        ),
        "claim_empty_total": Series("Claims that found nothing."),
        "stale_writes_total": Series(
            "Endings that changed nothing, because the attempt had lost its job."
        ),
        "series_dropped_total": Series(
            "Observations counted under `other`, because there are too many queues or kinds."
        ),
    }
)
HISTOGRAMS = MappingProxyType(
    {
        "job_wait_seconds": Series(
            "From falling due to the handler's start.",
            _QUEUE_AND_KIND,
            (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 1800, 3600),
        ),
        "job_run_seconds": Series(
            "From the handler's start to its end.", _QUEUE_AND_KIND, _SECONDS
        ),
        "claim_duration_seconds": Series(
            "How long a claim took.",
            (),
            (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1),
        ),
        "claim_batch_size": Series(
            "Jobs per claim that found some.", (), (1, 2, 5, 10, 20, 50, 100, 200, 500)
        ),
    }
)


class Histogram:
    """Counts per bucket, not cumulated, and the sum of what was observed."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value in the first bucket whose bound it does not exceed."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Tally:
    """What was counted since it was last taken. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, Labels], float] = {}
        self._histograms: dict[tuple[str, Labels], Histogram] = {}
        self._known: dict[tuple[str, str], Labels] = {}

    def count(self, series: str, by: float = 1) -> None:
        """Add to a counter without labels."""
        with self._lock:
            self._add(series, (), by)

    def observe(self, series: str, value: float) -> None:
        """Add to a histogram without labels."""
        with self._lock:
            self._histogram(series, ()).observe(value)

    def started(self, attempts: Iterable[tuple[str, str, float]]) -> None:
        """Count handlers that started: queue, kind and the seconds that the job waited."""
        with self._lock:
            for queue, kind, waited_seconds in attempts:
                labels = self._labels(queue, kind)
                self._add("jobs_started_total", labels, 1)
                self._histogram("job_wait_seconds", labels).observe(waited_seconds)

    def ran(self, attempts: Iterable[tuple[str, str, float]]) -> None:
        """Count handlers that ended: queue, kind and the seconds that it ran."""
        with self._lock:
            for queue, kind, run_seconds in attempts:
                labels = self._labels(queue, kind)
                self._histogram("job_run_seconds", labels).observe(run_seconds)

    def ended(self, attempts: Iterable[tuple[str, str, str]], *, finished: bool) -> None:
        """Count ended attempts: queue, kind and how; `finished` when the jobs ended too."""
        with self._lock:
            for queue, kind, how in attempts:
                labels = (*self._labels(queue, kind), how)
                self._add("attempts_ended_total", labels, 1)
                if finished:
                    self._add("jobs_finished_total", labels, 1)

    def take(self) -> Growth | None:
        """Return what grew, and begin anew; None when nothing did."""
        with self._lock:
            counters, self._counters = self._counters, {}
            histograms, self._histograms = self._histograms, {}
        if not counters and not histograms:
            return None
        return Growth(
            counters=tuple(
                Counted(name, labels, by) for (name, labels), by in counters.items()
            ),
            spreads=tuple(
                Spread(name, labels, tuple(each.counts), each.sum)
                for (name, labels), each in histograms.items()
            ),
        )

    def _add(self, series: str, labels: Labels, by: float) -> None:
        key = (series, labels)
        self._counters[key] = self._counters.get(key, 0) + by

    def _histogram(self, series: str, labels: Labels) -> Histogram:
        key = (series, labels)
        found = self._histograms.get(key)
        if found is None:
            found = self._histograms[key] = Histogram(HISTOGRAMS[series].bounds)
        return found

    def _labels(self, queue: str, kind: str) -> Labels:
        """Return the two labels, `other` for what comes after too many."""
        known = self._known.get((queue, kind))
        if known is None:
            queues = {labels[0] for labels in self._known.values()}
            kinds = {labels[1] for labels in self._known.values()}
            known = (
                queue if queue in queues or len(queues) < QUEUES_MAX else OTHER,
                kind if kind in kinds or len(kinds) < KINDS_MAX else OTHER,
            )
            if OTHER in known:
                self._add("series_dropped_total", (), 1)
                return known  # what is not kept cannot grow without end
            self._known[queue, kind] = known
        return known
