"""Hundreds of honest tenants that wait, some beside names that are made up, and what each had.

Histories of attackers have tens of lanes, which every plan looks at. Here most lanes wait
outside of the order: for their first turns, or for places of the reserve.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.simulation.engine import default_fleet, simulate
from fairlead_scheduler.simulation.fair_leader import FairLeader
from fairlead_scheduler.simulation.trace import Arrival

SECOND = 1_000_000
JOBS_MAX = 40_000
_COSTS: tuple[Callable[[Random, float], float], ...] = (
    lambda _, mean: mean,
    lambda draw, mean: mean * draw.uniform(0.5, 1.5),
    lambda draw, mean: min(draw.expovariate(1 / mean), 4 * mean),
)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Tenants of a few queues, each with a backlog from the start or a later moment on."""

    slots: int
    seconds: float
    tenants: int
    settled_us: int
    """By then all have begun to wait."""
    jobs: tuple[Arrival, ...]


def crowd_of(seed: int) -> Crowd:
    """Return the crowd of a seed: each tenant has more work than there is time for."""
    draw = Random(seed)
    slots, tenants = draw.choice((2, 4, 8, 20, 50)), int(30 * 16 ** draw.random())
    queues, mean = draw.choice((1, 1, 2, 5)), 0.02 * 25 ** draw.random()
    seconds = max(10.0, draw.uniform(10, 30) * tenants * mean / slots)
    seconds *= min(1.0, JOBS_MAX * mean / (1.5 * slots * seconds))
    waves, cost = draw.choice((1, 1, 2, 4)), draw.choice(_COSTS)
    each = int(1.5 * slots * seconds / mean / tenants) + 3
    jobs = [
        Arrival(
            tenant * waves // tenants * int(seconds * SECOND / 20),
            f"q{tenant % queues}",
            f"t{tenant}",
            int(cost(draw, mean) * SECOND) + 1,
        )
        for tenant in range(tenants)
        for _ in range(each)
    ]
    if draw.random() < 0.5:
        jobs += _names(draw, int(0.2 * len(jobs)), mean, seconds)
    return Crowd(
        slots=slots,
        seconds=seconds,
        tenants=tenants,
        settled_us=int(seconds * SECOND / 4),
        jobs=tuple(sorted(jobs, key=lambda job: job.at_us)),
    )


def _names(draw: Random, count: int, mean: float, seconds: float) -> Iterator[Arrival]:
    """Yield jobs of names that are made up: all at once, or one after the other."""
    from_us = int(draw.uniform(0, 0.5) * seconds * SECOND)
    over_us = draw.choice((0, int(seconds * SECOND / 2)))
    cost_us = int(mean * 4 ** draw.uniform(-1, 1) * SECOND) + 1
    is_queue = draw.random() < 0.3
    for number in range(count):
        at_us, name = from_us + over_us * number // count, f"x{number}"
        yield Arrival(at_us, name if is_queue else "q0", name, cost_us)


def apart(crowd: Crowd) -> float:
    """Play a crowd; return how far a tenant's slot time is from the mean of its queue's.

    It is counted once all have waited for a while, in the longest of these tenants' jobs.
    """
    until_us = int(crowd.seconds * SECOND)
    found = simulate(
        list(crowd.jobs), FairLeader(CompiledPolicy()), default_fleet(crowd.slots), until_us
    )
    served: dict[str, dict[str, int]] = defaultdict(dict)
    waiting, longest_us = set[str](), 1
    for each in found.jobs:
        job, at_us = each.arrival, each.claimed_us
        if job.tenant[0] != "t":
            continue
        longest_us = max(longest_us, job.cost_us)
        if at_us is None:
            waiting.add(job.tenant)
            at_us = until_us
        us = min(each.ended_us or until_us, until_us) - max(at_us, crowd.settled_us)
        mine = served[job.queue]
        mine[job.tenant] = mine.get(job.tenant, 0) + max(0, us)
    worst_us = 0.0
    for mine in served.values():
        held = [us for tenant, us in mine.items() if tenant in waiting]
        mean_us = sum(held) / max(1, len(held))
        worst_us = max([worst_us, *(abs(us - mean_us) for us in held)])
    return worst_us / longest_us
