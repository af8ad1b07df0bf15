"""Reference policies: what others do, in their best case.

Each decides with full knowledge of all claims and endings so far. The rules come from published
documents or the literature; no code was copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count

from bench.fairness.traffic.weights import Weights
from fairlead_scheduler.simulation.interface import DispatchedRow, JobEvent
from fairlead_scheduler.simulation.trace import Arrival, Lane

_Waiting = deque[int]


class Fifo:
    """First come, first served: a plain queue."""

    def __init__(self) -> None:
        self._waiting: _Waiting = deque()

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Append the jobs."""
        del now_us
        self._waiting.extend(place for place, _ in jobs)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Ignore claims."""

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Ignore endings."""

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Ignore weights."""

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch the oldest jobs."""
        del now_us, slots
        waiting = self._waiting
        places = (waiting.popleft() for _ in range(min(room, len(waiting))))
        return [DispatchedRow(place, place) for place in places]


class RoundRobin:
    """One job per tenant in turn, regardless of run times and weights.

    Groups of BullMQ and the round-robin strategy of Hatchet are documented like this. A tenant
    that comes back joins at the end of the round.
    """

    def __init__(self) -> None:
        self._lanes: dict[Lane, _Waiting] = {}
        self._turns: deque[_Waiting] = deque()
        self._tags = count()

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Append each job to its tenant's backlog."""
        del now_us
        for place, job in jobs:
            lane = self._lanes.setdefault(job.lane, deque())
            if not lane:
                self._turns.append(lane)
            lane.append(place)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Ignore claims."""

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Ignore endings."""

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Ignore weights."""

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch one job of each tenant in turn."""
        del now_us, slots
        rows: list[DispatchedRow] = []
        while self._turns and len(rows) < room:
            lane = self._turns.popleft()
            rows.append(DispatchedRow(next(self._tags), lane.popleft()))
            if lane:
                self._turns.append(lane)
        return rows


class Stride:
    """Stride scheduling (Waldspurger and Weihl, 1995), with the pass stamped on arrival.

    Temporal's fairness keys are documented like this: tasks are dispatched in proportion to
    weights, by number of tasks, and queued ones keep their place when weights change.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._passes: dict[Lane, float] = {}
        self._waiting: list[tuple[float, int]] = []
        self._now = 0.0
        """The pass of the last dispatched job."""
        self._tags = count()

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Stamp each job with its tenant's pass, and advance that by 1/weight."""
        del now_us
        for place, job in jobs:
            lane = job.lane
            start = max(self._passes.get(lane, 0.0), self._now)
            heappush(self._waiting, (start, place))
            self._passes[lane] = start + 1 / self._weights.get(lane, 1.0)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Ignore claims."""

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Ignore endings."""

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Stamp new jobs by other weights; waiting ones keep their places."""
        del now_us
        self._weights = weights

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch the jobs with the smallest passes."""
        del now_us, slots
        rows: list[DispatchedRow] = []
        while self._waiting and len(rows) < room:
            self._now, place = heappop(self._waiting)
            rows.append(DispatchedRow(next(self._tags), place))
        return rows


class LeastInFlight:
    """The tenant with the fewest jobs in flight for its weight, as capacity schedulers do.

    YARN's fair scheduler orders applications like this, by what they hold now, not by what they
    held before. Ties go to the tenant whose job waits longest.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._lanes: dict[Lane, _Waiting] = {}
        self._lane_of: dict[int, Lane] = {}
        self._in_flight: dict[Lane, int] = {}
        self._order: list[tuple[float, int, Lane]] = []
        self._tags = count()

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Append each job to its tenant's backlog."""
        del now_us
        for place, job in jobs:
            self._lane_of[place] = job.lane
            lane = self._lanes.setdefault(job.lane, deque())
            lane.append(place)
            if len(lane) == 1:
                self._enter(job.lane)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Ignore claims: a dispatched job is in flight."""

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Count each tenant's jobs in flight."""
        for place, _ in endings:
            lane = self._lane_of.pop(place)
            self._in_flight[lane] -= 1
            if self._lanes[lane]:
                self._enter(lane)

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Recompute the order of all tenants."""
        del now_us
        self._weights = weights
        self._order.clear()
        for lane, waiting in self._lanes.items():
            if waiting:
                self._enter(lane)

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch, one by one, a job of the tenant with the fewest in flight."""
        del now_us, slots
        rows: list[DispatchedRow] = []
        while self._order and len(rows) < room:
            load, place, lane = heappop(self._order)
            waiting = self._lanes[lane]
            if not waiting or waiting[0] != place or load != self._load(lane):
                continue
            waiting.popleft()
            rows.append(DispatchedRow(next(self._tags), place))
            self._in_flight[lane] = self._in_flight.get(lane, 0) + 1
            if waiting:
                self._enter(lane)
        return rows

    def _load(self, lane: Lane) -> float:
        return self._in_flight.get(lane, 0) / self._weights.get(lane, 1.0)

    def _enter(self, lane: Lane) -> None:
        heappush(self._order, (self._load(lane), self._lanes[lane][0], lane))
