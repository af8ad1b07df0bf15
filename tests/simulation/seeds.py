"""Many seeds: on several processes, with the first broken promise of each."""

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count

import structlog

from tests.simulation import leading, scaling
from tests.simulation.variants import Variant
from tests.simulation.verdict import Verdict

PARTS = ("leader", "autoscaler")
STEPS = 1_000_000
"""More than any history has."""


def simulate(part: str, seed: int, steps: int = STEPS) -> Verdict:
    """Simulate what a seed stands for, in silence."""
    before = structlog.get_config()
    structlog.configure(processors=[_dropped], cache_logger_on_first_use=False)
    try:
        if part == "leader":
            return leading.simulate(seed, steps)
        return scaling.simulate(seed, steps)
    finally:
        structlog.configure(**before)


def _dropped(*_: object) -> str:
    raise structlog.DropEvent


def simulated(part: str, seeds: Iterable[int], processes: int) -> Iterator[Verdict]:
    """Yield the verdicts of these seeds, in their order."""
    if processes <= 1:
        yield from map(partial(simulate, part), seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(partial(simulate, part), seeds, chunksize=4)


def hunt(variant: Variant, most: int, *, start: int = 0) -> Verdict | None:
    """Return the first verdict that finds a variant; None: none of so many seeds does."""
    with variant.in_force():
        for seed in range(start, start + most) if most else count(start):
            verdict = simulate(variant.part, seed)
            if verdict.broken:
                return verdict
    return None


def summed(verdicts: Iterable[Verdict]) -> tuple[Counter[str], Counter[str]]:
    """Return how often promises were checked in all, and the longest that anything took."""
    checked, longest_us = Counter[str](), Counter[str]()
    for each in verdicts:
        checked += each.checked
        longest_us |= each.longest_us
    return checked, longest_us
