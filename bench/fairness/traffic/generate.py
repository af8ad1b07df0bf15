"""Generate traffic from a workload's parameters and a seed, deterministically."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from bench.fairness.traffic.workload import (
    Backlog,
    Bursts,
    Cost,
    Even,
    Exponential,
    Filled,
    Poisson,
    Tenants,
    Workload,
    Zipf,
)
from fairlead_scheduler.simulation.trace import Arrival, Group

_US = 1_000_000
Arrivals = Even | Poisson | Bursts | Backlog


def generate(workload: Workload, seed: int) -> tuple[Arrival, ...]:
    """Return the workload's traffic, sorted by arrival.

    Each tenant has a random source of its own, so its jobs stay the same when another tenant is
    added.
    """
    found: list[tuple[int, int, int, Arrival]] = []
    seconds = workload.until_us / _US
    place = 0
    for tenants in workload.tenants:
        if isinstance(tenants.arrivals, Filled):
            continue
        if isinstance(tenants.arrivals, Zipf):
            jobs = _zipf(tenants, tenants.arrivals, seconds, seed)
            found += [(job.at_us, number, place, job) for number, job in enumerate(jobs)]
            place += 1
            continue
        for name in tenants.names():
            jobs = _tenant(tenants, tenants.arrivals, name, seconds, seed)
            found += [(job.at_us, number, place, job) for number, job in enumerate(jobs)]
            place += 1
    found.sort()
    return tuple(entry[3] for entry in found)


def _tenant(
    tenants: Tenants, arrivals: Arrivals, name: str, seconds: float, seed: int
) -> Iterator[Arrival]:
    draw = random.Random(f"{seed}/{tenants.queue}/{name}")
    for at_seconds in _times(arrivals, draw, seconds):
        cost_us = _cost_us(tenants.cost, draw)
        yield _job(at_seconds, tenants.queue, name, cost_us, tenants.group)


def _zipf(tenants: Tenants, arrivals: Zipf, seconds: float, seed: int) -> Iterator[Arrival]:
    draw = random.Random(f"{seed}/{tenants.queue}/{tenants.name}")
    names = tenants.names()
    chances = list(accumulate(1 / rank for rank in range(1, len(names) + 1)))
    for at_seconds in _times(
        Poisson(form="poisson", per_second=arrivals.per_second), draw, seconds
    ):
        place = bisect_left(chances, draw.random() * chances[-1])
        group: Group = "tail" if place + 1 >= arrivals.tail_from else tenants.group
        cost_us = _cost_us(tenants.cost, draw)
        yield _job(at_seconds, tenants.queue, names[place], cost_us, group)


def _job(at_seconds: float, queue: str, tenant: str, cost_us: int, group: Group) -> Arrival:
    """Return a job of the kind that workers run on PostgreSQL."""
    return Arrival(round(at_seconds * _US), queue, tenant, cost_us, group, kind="sleep")


def _times(arrivals: Arrivals, draw: random.Random, seconds: float) -> Iterator[float]:
    match arrivals:
        case Even():
            count = int(seconds * arrivals.per_second)
            yield from (number / arrivals.per_second for number in range(count))
        case Poisson():
            at = draw.expovariate(arrivals.per_second)
            while at < seconds:
                yield at
                at += draw.expovariate(arrivals.per_second)
        case Bursts():
            at = arrivals.first_seconds
            while at < seconds:
                yield from (at for _ in range(arrivals.jobs))
                at += arrivals.every_seconds
        case Backlog():
            yield from (0.0 for _ in range(arrivals.jobs))


def _cost_us(cost: Cost, draw: random.Random) -> int:
    if isinstance(cost, Exponential):
        seconds = draw.expovariate(1 / cost.mean_seconds)
    else:
        seconds = draw.uniform(cost.lowest_seconds, cost.highest_seconds)
    return max(1, round(seconds * _US))
