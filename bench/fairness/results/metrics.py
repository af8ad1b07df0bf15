"""Metrics of a finished run; values in, values out.

Service is in slot-microseconds, and a lane's curve is its service over time, linear between two
points.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from bench.fairness.contenders.ideal import Point
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival, Group, Lane


def since(
    played: Sequence[JobOutcome], trace: Sequence[Arrival], from_us: int
) -> list[JobOutcome]:
    """Return the outcomes from a moment on, with times relative to it.

    Unfinished jobs that were due before keep a negative arrival: their slots count, their waits
    do not.
    """
    if not from_us:
        return list(played)
    found: list[JobOutcome] = []
    for (arrival, claimed_us, ended_us), due in zip(played, trace, strict=True):
        if ended_us is not None and ended_us <= from_us:
            continue
        at_us = arrival.at_us - from_us
        at_us = min(at_us, -1) if due.at_us < from_us else max(at_us, 0)
        moved = JobOutcome(
            arrival._replace(at_us=at_us),
            None if claimed_us is None else max(0, claimed_us - from_us),
            None if ended_us is None else ended_us - from_us,
        )
        found.append(moved)
    return found


def dwells_us(played: Iterable[JobOutcome], group: Group, until_us: int) -> list[int]:
    """Return each job's wait in a class; for a job that still waits, until the end."""
    return [
        (until_us if claimed_us is None else claimed_us) - arrival.at_us
        for arrival, claimed_us, _ in played
        if arrival.group == group and 0 <= arrival.at_us < until_us
    ]


def unserved(played: Iterable[JobOutcome], group: Group, until_us: int) -> int:
    """Return how many jobs of a class were never claimed."""
    return sum(
        job.claimed_us is None and job.arrival.group == group
        for job in played
        if 0 <= job.arrival.at_us < until_us
    )


def excess_us(
    played: Iterable[JobOutcome], ideal: Iterable[JobOutcome], group: Group, until_us: int
) -> list[int]:
    """Return how much longer each job of a class waited than in the ideal schedule."""
    ours, theirs = dwells_us(played, group, until_us), dwells_us(ideal, group, until_us)
    return [mine - other for mine, other in zip(ours, theirs, strict=True)]


def jain(values: Sequence[float]) -> float:
    """Return Jain's index (1984): 1 when all values are equal, 1/n when one has everything."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def service_us(played: Iterable[JobOutcome], from_us: int, until_us: int) -> dict[Lane, int]:
    """Return each lane's slot-time between two moments."""
    served: dict[Lane, int] = defaultdict(int)
    for arrival, claimed_us, ended_us in played:
        if claimed_us is not None:
            end_us = until_us if ended_us is None else min(ended_us, until_us)
            served[arrival.lane] += max(0, end_us - max(claimed_us, from_us))
    return dict(served)


def backlogged(played: Iterable[JobOutcome], until_us: int) -> dict[Lane, tuple[int, int]]:
    """Return the longest interval in which each lane had a job waiting."""
    changes: dict[Lane, list[tuple[int, int]]] = defaultdict(list)
    for arrival, claimed_us, _ in played:
        claimed = until_us if claimed_us is None else claimed_us
        at_us = max(0, arrival.at_us)
        if claimed > at_us:
            changes[arrival.lane] += ((at_us, -1), (claimed, 1))
    return {lane: _longest(sorted(of_lane)) for lane, of_lane in changes.items()}


def _longest(changes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the longest interval with something waiting; -1 is an arrival, 1 a claim."""
    best, begun_us, waiting = (0, 0), 0, 0
    for at_us, change in changes:
        if not waiting:
            begun_us = at_us
        waiting -= change
        if not waiting and at_us - begun_us > best[1] - best[0]:
            best = (begun_us, at_us)
    return best


def rates(
    played: Sequence[JobOutcome], weights: Mapping[Lane, float], lowest_us: int, until_us: int
) -> dict[Lane, float]:
    """Return W/w per second of each lane over its longest backlog, if that is long enough."""
    spells = {
        lane: spell
        for lane, spell in backlogged(played, until_us).items()
        if spell[1] - spell[0] >= lowest_us
    }
    served: dict[Lane, int] = dict.fromkeys(spells, 0)
    for arrival, claimed_us, ended_us in played:
        spell = spells.get(arrival.lane)
        if spell is not None and claimed_us is not None:
            end_us = until_us if ended_us is None else ended_us
            took_us = min(end_us, spell[1]) - max(claimed_us, spell[0])
            served[arrival.lane] += max(0, took_us)
    return {
        lane: served[lane] / weights.get(lane, 1.0) / (end_us - begin_us)
        for lane, (begin_us, end_us) in spells.items()
    }


def weight_error(served: Mapping[Lane, float], weights: Mapping[Lane, float]) -> float:
    """Return the worst lane's deviation from its weight's share, relative to that share."""
    whole = sum(served.values())
    weight = sum(weights.get(lane, 1.0) for lane in served)
    if not whole:
        return 0.0
    return max(
        abs(service / whole * weight / weights.get(lane, 1.0) - 1)
        for lane, service in served.items()
    )


def utilisation(played: Iterable[JobOutcome], slots: int, until_us: int) -> float:
    """Return the share of slot-time in use."""
    return sum(service_us(played, 0, until_us).values()) / (slots * until_us)


def work_conservation(played: Iterable[JobOutcome], slots: int, until_us: int) -> float:
    """Return 1 - the slot-time that was idle while jobs waited, over all slot-time.

    A waiting job could have used one slot, not all idle ones. On a real fleet a job may be
    claimed a moment before its slot is free.
    """
    changes: Counter[tuple[int, bool]] = Counter()
    for arrival, claimed_us, ended_us in played:
        changes[max(0, arrival.at_us), True] += 1
        if claimed_us is not None:
            changes[claimed_us, True] -= 1
            changes[claimed_us, False] += 1
        if ended_us is not None:
            changes[ended_us, False] -= 1
    waiting = running = wasted_us = last_us = 0
    for (at_us, is_waiting), change in sorted(changes.items()):
        if at_us >= until_us:
            break
        wasted_us += max(0, min(slots - running, waiting)) * (at_us - last_us)
        last_us = at_us
        waiting += change * is_waiting
        running += change * (not is_waiting)
    wasted_us += max(0, min(slots - running, waiting)) * (until_us - last_us)
    return 1 - wasted_us / (slots * until_us)


def curves(played: Iterable[JobOutcome], until_us: int) -> dict[Lane, list[Point]]:
    """Return each lane's service over time."""
    changes: dict[Lane, Counter[int]] = defaultdict(Counter)
    for arrival, claimed_us, ended_us in played:
        of_lane = changes[arrival.lane]
        if claimed_us is not None and claimed_us < until_us:
            of_lane[claimed_us] += 1
            of_lane[until_us if ended_us is None else min(ended_us, until_us)] -= 1
    return {lane: _curve(of_lane, until_us) for lane, of_lane in changes.items()}


def _curve(changes: Mapping[int, int], until_us: int) -> list[Point]:
    points = [Point(0, 0.0)]
    running = 0
    for at_us, change in sorted({until_us: 0, **changes}.items()):
        last_us, served_us = points[-1]
        points.append(Point(at_us, served_us + running * (at_us - last_us)))
        running += change
    return points


def distance(one: Sequence[Point], other: Sequence[Point]) -> float:
    """Return the largest distance of two curves over the time that both cover."""
    end_us = min(one[-1].at_us, other[-1].at_us)
    times = sorted({point.at_us for point in (*one, *other) if point.at_us <= end_us})
    return max(
        (abs(a - b) for a, b in zip(_values(one, times), _values(other, times), strict=True)),
        default=0.0,
    )


def _values(curve: Sequence[Point], times: Sequence[float]) -> list[float]:
    """Return the curve's values at ascending times; before its start its first value."""
    values: list[float] = []
    index = 0
    for at_us in times:
        while index + 1 < len(curve) and curve[index + 1].at_us <= at_us:
            index += 1
        start = curve[index]
        value = start.served_us
        if at_us > start.at_us and index + 1 < len(curve):
            end = curve[index + 1]
            share = (at_us - start.at_us) / (end.at_us - start.at_us)
            value += share * (end.served_us - start.served_us)
        values.append(value)
    return values


def lags_us(
    ours: Mapping[Lane, Sequence[Point]], ideal: Mapping[Lane, Sequence[Point]]
) -> dict[Lane, float]:
    """Return each lane's largest distance from its ideal service."""
    nothing = [Point(0, 0.0), Point(max(p[-1].at_us for p in ideal.values()), 0.0)]
    return {lane: distance(ours.get(lane, nothing), points) for lane, points in ideal.items()}


def bounds_us(played: Iterable[JobOutcome], until_us: int) -> dict[Lane, int]:
    """Return (1 + L) c_max of each lane: the most jobs at once plus one, times the longest."""
    changes: dict[Lane, Counter[int]] = defaultdict(Counter)
    longest_us: dict[Lane, int] = defaultdict(int)
    for arrival, claimed_us, ended_us in played:
        longest_us[arrival.lane] = max(longest_us[arrival.lane], arrival.cost_us)
        if claimed_us is not None:
            changes[arrival.lane][claimed_us] += 1
            changes[arrival.lane][until_us if ended_us is None else ended_us] -= 1
    return {lane: (1 + _most(changes[lane])) * cost for lane, cost in longest_us.items()}


def _most(changes: Mapping[int, int]) -> int:
    """Return the highest sum of changes up to any moment."""
    sums = accumulate(change for _, change in sorted(changes.items()))
    return max(sums, default=0)


def curve_since(curve: Sequence[Point], from_us: int) -> list[Point]:
    """Return a curve's growth from a moment on, with times relative to it."""
    before = _values(curve, [from_us])[0] if from_us >= curve[0].at_us else 0.0
    later = [
        Point(point.at_us - from_us, point.served_us - before)
        for point in curve
        if point.at_us > from_us
    ]
    return [Point(0, 0.0), *later]


def largest_gap_us(
    ours: Mapping[Lane, Sequence[Point]], weights: Mapping[Lane, float], lanes: Sequence[Lane]
) -> float:
    """Return the largest distance of any two of these lanes, in service over weight."""
    times = sorted({point.at_us for lane in lanes for point in ours[lane]})
    lowest, highest = [float("inf")] * len(times), [float("-inf")] * len(times)
    for lane in lanes:
        weight = weights.get(lane, 1.0)
        for place, value in enumerate(_values(ours[lane], times)):
            lowest[place] = min(lowest[place], value / weight)
            highest[place] = max(highest[place], value / weight)
    return max(high - low for low, high in zip(lowest, highest, strict=True))


def shares(played: Sequence[JobOutcome], lane: Lane, moments_us: Sequence[int]) -> list[float]:
    """Return a lane's share of all service between consecutive moments, as after an edit."""
    found: list[float] = []
    for from_us, until_us in pairwise(moments_us):
        served = service_us(played, from_us, until_us)
        whole = sum(served.values())
        found.append(served.get(lane, 0) / whole if whole else 0.0)
    return found
