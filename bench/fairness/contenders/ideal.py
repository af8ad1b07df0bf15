"""The ideal: weighted fair shares of a fluid, computed with all run times known in advance.

Generalised processor sharing (Parekh and Gallager, 1993), on two levels like the fair order: at
every moment the queues with work share the capacity by weight, and inside each its tenants do.
Jobs, which cannot be divided, are then ordered by when the fluid would begin them: the closest
that jobs on slots come to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from bench.fairness.traffic.weights import Weights
from fairlead_scheduler.simulation.interface import DispatchedRow, JobEvent
from fairlead_scheduler.simulation.trace import Arrival, Lane

_US_EPSILON = 1e-3


class Point(NamedTuple):
    """A lane's service at a time; it grows linearly between two points."""

    at_us: float
    served_us: float


Curves = Mapping[Lane, Sequence[Point]]


class _Flow:
    __slots__ = ("left_us", "points", "rate", "served_us", "since_us", "weight")

    def __init__(self, weight: float, at_us: float) -> None:
        self.weight = weight
        self.left_us = 0.0
        self.rate = 0.0
        self.served_us = 0.0
        self.since_us = at_us
        self.points = [Point(at_us, 0.0)]

    def advance(self, now_us: float) -> None:
        """Serve until now at the present rate."""
        served_us = self.rate * (now_us - self.since_us)
        self.served_us += served_us
        self.left_us -= served_us
        self.since_us = now_us

    def turn(self, now_us: float, rate: float) -> None:
        """Change the rate from now on."""
        self.advance(now_us)
        if rate != self.rate:
            self.points.append(Point(now_us, self.served_us))
            self.rate = rate


def fluid(trace: Sequence[Arrival], weights: Weights, slots: int, until_us: int) -> Curves:
    """Return each lane's service under generalised processor sharing until then."""
    flows: dict[Lane, _Flow] = {}
    active: dict[str, dict[Lane, _Flow]] = defaultdict(dict)
    now_us, place = 0.0, 0
    while True:
        at_us = trace[place].at_us if place < len(trace) else until_us
        first_us = min([at_us, until_us, *_empty_at(active, now_us)])
        _advance(active, first_us)
        now_us = first_us
        if now_us >= until_us:
            break
        changed = _drop_empty(active, now_us)
        while place < len(trace) and trace[place].at_us <= now_us:
            job = trace[place]
            place += 1
            flow = flows.get(job.lane)
            if flow is None:
                flow = flows[job.lane] = _Flow(weights.get(job.lane, 1.0), now_us)
            if job.lane not in active[job.queue]:
                flow.since_us = now_us
                active[job.queue][job.lane] = flow
                changed = True
            flow.left_us += job.cost_us
        if changed:
            _share(active, now_us, slots)
    for flow in flows.values():
        flow.points.append(Point(until_us, flow.served_us))
    return {lane: flow.points for lane, flow in flows.items()}


def _empty_at(active: Mapping[str, Mapping[Lane, _Flow]], now_us: float) -> list[float]:
    """Return when each lane will have no work left at the present rates."""
    return [
        now_us + flow.left_us / flow.rate
        for flows in active.values()
        for flow in flows.values()
        if flow.rate
    ]


def _advance(active: Mapping[str, Mapping[Lane, _Flow]], now_us: float) -> None:
    for flows in active.values():
        for flow in flows.values():
            flow.advance(now_us)


def _drop_empty(active: Mapping[str, dict[Lane, _Flow]], now_us: float) -> bool:
    changed = False
    for flows in active.values():
        empty = [lane for lane, flow in flows.items() if flow.left_us <= _US_EPSILON]
        for lane in empty:
            flow = flows.pop(lane)
            flow.left_us = 0.0
            flow.turn(now_us, 0.0)
            changed = True
    return changed


def _share(active: Mapping[str, Mapping[Lane, _Flow]], now_us: float, slots: int) -> None:
    """Recompute every rate; queues have equal weights."""
    busy = [flows for flows in active.values() if flows]
    for flows in busy:
        whole = sum(flow.weight for flow in flows.values())
        for flow in flows.values():
            flow.turn(now_us, slots / len(busy) * flow.weight / whole)


def begins(trace: Sequence[Arrival], curves: Curves) -> list[float]:
    """Return when the fluid begins each job of the trace; infinity for never.

    A lane's jobs are served one after the other.
    """
    done_us: dict[Lane, float] = defaultdict(float)
    place: dict[Lane, int] = defaultdict(int)
    found: list[float] = []
    for job in trace:
        lane, points = job.lane, curves[job.lane]
        goal_us = done_us[lane]
        done_us[lane] = goal_us + job.cost_us
        index = place[lane]
        while index + 1 < len(points) and points[index + 1].served_us <= goal_us + _US_EPSILON:
            index += 1
        place[lane] = index
        found.append(max(float(job.at_us), _time_of(points, index, goal_us)))
    return found


def _time_of(points: Sequence[Point], index: int, goal_us: float) -> float:
    if index + 1 == len(points):
        return float("inf")
    start, end = points[index], points[index + 1]
    share = max(0.0, goal_us - start.served_us) / (end.served_us - start.served_us)
    return start.at_us + share * (end.at_us - start.at_us)


class Offline:
    """The order in which the fluid begins jobs, as a policy."""

    def __init__(
        self, trace: Sequence[Arrival], weights: Weights, slots: int, until_us: int
    ) -> None:
        self._begins = begins(trace, fluid(trace, weights, slots, until_us))
        self._waiting: list[tuple[float, int]] = []
        self._tags = count()

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Add new jobs."""
        del now_us
        for place, _ in jobs:
            heappush(self._waiting, (self._begins[place], place))

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Ignore claims."""

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Ignore endings."""

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Ignore other weights: the fluid was computed with the initial ones."""

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch the jobs that the fluid begins first."""
        del now_us, slots
        jobs = min(room, len(self._waiting))
        places = [heappop(self._waiting)[1] for _ in range(jobs)]
        return [DispatchedRow(next(self._tags), place) for place in places]
