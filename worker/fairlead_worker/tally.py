"""What a child counts: its series, named once, and how much they grew since the last tally.

Counting is done by two or three threads, a batch at a time, so that a job costs a few
dictionary steps and no call per series. The parent adds up what its children send.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from fairlead_worker.wire import Counted, Growth, Spread

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


class Kind:
    """What was counted of one queue and kind."""

    __slots__ = ("ended", "finished", "run", "started", "wait")

    def __init__(self) -> None:
        self.started = 0
        self.wait = Histogram(HISTOGRAMS["job_wait_seconds"].bounds)
        self.run = Histogram(HISTOGRAMS["job_run_seconds"].bounds)
        # No Counter: it stores at half the speed, and this is done twice per job.
        self.ended = defaultdict[str, int](int)
        self.finished = defaultdict[str, int](int)

    def growth(self, labels: Labels) -> tuple[list[Counted], list[Spread]]:
        """Return what grew, under these labels."""
        counted = [Counted("jobs_started_total", labels, self.started)] if self.started else []
        for series, counts in (
            ("jobs_finished_total", self.finished),
            ("attempts_ended_total", self.ended),
        ):
            counted += [Counted(series, (*labels, how), by) for how, by in counts.items()]
        spreads = [
            Spread(series, labels, tuple(each.counts), each.sum)
            for series, each in (("job_wait_seconds", self.wait), ("job_run_seconds", self.run))
            if any(each.counts)
        ]
        return counted, spreads


class Tally:
    """What was counted since it was last taken. Safe to use from several threads.

    Whoever counts jobs holds `lock`, asks for each job's `kind` and adds to it; the rest is
    counted by `count` and `observe`.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._kinds: dict[Labels, Kind] = {}
        self._counters = defaultdict[str, int](int)
        self._histograms: dict[str, Histogram] = {}
        self._known: set[Labels] = set()

    def count(self, series: str) -> None:
        """Add one to a counter without labels."""
        with self.lock:
            self._counters[series] += 1

    def observe(self, series: str, value: float) -> None:
        """Add to a histogram without labels."""
        with self.lock:
            found = self._histograms.get(series)
            if found is None:
                found = self._histograms[series] = Histogram(HISTOGRAMS[series].bounds)
            found.observe(value)

    def kind(self, queue: str, kind: str) -> Kind:
        """Return what is counted under this queue and kind, `lock` being held."""
        found = self._kinds.get((queue, kind))
        if found is None:
            labels = self._admitted(queue, kind)
            found = self._kinds.setdefault(labels, Kind())
        return found

    def take(self) -> Growth | None:
        """Return what grew, and begin anew; None when nothing did."""
        with self.lock:
            kinds, self._kinds = self._kinds, {}
            counters, self._counters = self._counters, defaultdict[str, int](int)
            histograms, self._histograms = self._histograms, {}
        counted = [Counted(series, (), by) for series, by in counters.items()]
        spreads = [
            Spread(series, (), tuple(each.counts), each.sum)
            for series, each in histograms.items()
        ]
        for labels, kind in kinds.items():
            of_kind, its_spreads = kind.growth(labels)
            counted += of_kind
            spreads += its_spreads
        return Growth(tuple(counted), tuple(spreads)) if counted or spreads else None

    def _admitted(self, queue: str, kind: str) -> Labels:
        """Return the labels to use: `other` once there are too many queues or kinds."""
        if (queue, kind) in self._known:
            return (queue, kind)
        queues, kinds = {each[0] for each in self._known}, {each[1] for each in self._known}
        labels = (
            queue if queue in queues or len(queues) < QUEUES_MAX else OTHER,
            kind if kind in kinds or len(kinds) < KINDS_MAX else OTHER,
        )
        self._known.add(labels)
        if labels != (queue, kind):
            self._counters["series_dropped_total"] += 1
        return labels
