"""What a child counts, and how much that grew since it was last taken; `series` names it all.

Two or three threads count, a batch at a time, so that a job costs a few dictionary steps and no
call per series. The parent adds up what its children send.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from fairlead.metrics.series import Series
from fairlead_worker.ipc.messages import CounterGrowth, HistogramGrowth, MetricsGrowth
from fairlead_worker.metrics import series
from fairlead_worker.metrics.series import KINDS_MAX, OTHER, PAIRS_MAX, QUEUES_MAX

Labels: TypeAlias = tuple[str, ...]


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


class KindCounts:
    """What was counted of one queue and kind."""

    __slots__ = ("ended", "finished", "run", "stalls", "started", "wait")

    def __init__(self, wait_bounds: tuple[float, ...]) -> None:
        self.started = self.stalls = 0
        self.wait = Histogram(wait_bounds)
        self.run = Histogram(series.JOB_RUN.bounds)
        # Not a Counter: it stores at half the speed, and this is done twice per job.
        self.ended = defaultdict[str, int](int)
        self.finished = defaultdict[str, int](int)

    def growth(self, labels: Labels) -> tuple[list[CounterGrowth], list[HistogramGrowth]]:
        """Return what grew, under these labels."""
        counted = [
            CounterGrowth(grown.name, labels, by)
            for grown, by in (
                (series.JOBS_STARTED, self.started),
                (series.LOOP_STALLS, self.stalls),
            )
            if by
        ]
        for grown, counts in (
            (series.JOBS_FINISHED.name, self.finished),
            (series.ATTEMPTS_ENDED.name, self.ended),
        ):
            counted += [CounterGrowth(grown, (*labels, how), by) for how, by in counts.items()]
        spreads = [
            HistogramGrowth(grown, labels, tuple(each.counts), each.sum)
            for grown, each in (
                (series.JOB_WAIT.name, self.wait),
                (series.JOB_RUN.name, self.run),
            )
            if any(each.counts)
        ]
        return counted, spreads


class Counters:
    """What was counted since it was last taken. Safe to use from several threads.

    To count jobs, take `lock`, get each job's `kind` and add to it; the rest is counted by
    `count` and `observe`.

    Args:
        waits: bounds that the histogram of waits has in addition to its own, in seconds.
    """

    def __init__(self, waits: Iterable[float] = ()) -> None:
        self.lock = threading.Lock()
        self._wait_bounds = series.bounds(series.JOB_WAIT, waits)
        self._kinds: dict[Labels, KindCounts] = {}
        self._counters = defaultdict[str, int](int)
        self._histograms: dict[str, Histogram] = {}
        self._known: set[Labels] = set()
        self._queues: set[str] = set()
        self._kinds_known: set[str] = set()

    def count(self, counter: Series) -> None:
        """Add one to a counter without labels."""
        with self.lock:
            self._counters[counter.name] += 1

    def observe(self, histogram: Series, value: float) -> None:
        """Add to a histogram without labels."""
        with self.lock:
            found = self._histograms.get(histogram.name)
            if found is None:
                found = self._histograms[histogram.name] = Histogram(histogram.bounds)
            found.observe(value)

    def kind(self, queue: str, kind: str) -> KindCounts:
        """Return what is counted under this queue and kind, `lock` being held."""
        found = self._kinds.get((queue, kind))
        if found is None:
            labels = self._admitted(queue, kind)
            found = self._kinds.setdefault(labels, KindCounts(self._wait_bounds))
        return found

    def take(self) -> MetricsGrowth | None:
        """Take what grew, and begin anew; None when nothing did."""
        with self.lock:
            kinds, self._kinds = self._kinds, {}
            counters, self._counters = self._counters, defaultdict[str, int](int)
            histograms, self._histograms = self._histograms, {}
        counted = [CounterGrowth(grown, (), by) for grown, by in counters.items()]
        spreads = [
            HistogramGrowth(grown, (), tuple(each.counts), each.sum)
            for grown, each in histograms.items()
        ]
        for labels, kind in kinds.items():
            of_kind, its_spreads = kind.growth(labels)
            counted += of_kind
            spreads += its_spreads
        return MetricsGrowth(tuple(counted), tuple(spreads)) if counted or spreads else None

    def _admitted(self, queue: str, kind: str) -> Labels:
        """Return the labels to use: `other` once there are too many queues or kinds."""
        if (queue, kind) in self._known:
            return (queue, kind)
        labels = (
            _first(queue, self._queues, QUEUES_MAX),
            _first(kind, self._kinds_known, KINDS_MAX),
        )
        if labels not in self._known and len(self._known) >= PAIRS_MAX:
            labels = (labels[0], OTHER)
        self._known.add(labels)
        if labels != (queue, kind):
            self._counters[series.SERIES_DROPPED.name] += 1
        return labels


def _first(name: str, known: set[str], most: int) -> str:
    """Return a name that is among the first so many; any other one is `other`."""
    if name not in known:
        if len(known) >= most:
            return OTHER
        known.add(name)
    return name
