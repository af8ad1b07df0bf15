"""The settings of the fair order, as values."""

from dataclasses import dataclass
from typing import NamedTuple

SMALLEST_POOL_SLOTS = 4
"""Smaller pools keep no slot unless a policy says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortSettings:
    """How many slots are kept for short jobs, and which are short."""

    per_10_000: int = 1000
    lowest: int | None = None
    """None: one in pools of four slots or more."""
    shorter_us: int = 2_000_000

    def kept_of(self, slots: int) -> int:
        """Return how many of these slots are kept."""
        lowest = self.lowest
        if lowest is None:
            lowest = 1 if slots >= SMALLEST_POOL_SLOTS else 0
        return max(lowest, slots * self.per_10_000 // 10_000)

    def slots_for(self, long_jobs: int) -> int:
        """Return the fewest slots of which so many are not kept; for 0 jobs it is 0."""
        slots = long_jobs
        while (lacking := long_jobs - max(1, slots - self.kept_of(slots))) > 0:
            slots += lacking
        return slots


@dataclass(frozen=True, slots=True, kw_only=True)
class FairSettings:
    """The settings of the fair order."""

    inflight_share_cap: float = 2.0
    """Beta: a lane with so many times its fair share in flight waits while others have less."""
    prior_us: int = 100_000
    """The first estimate in a queue where nothing has ended yet."""
    prior_samples: int = 4
    """n0: the number of samples that the prior counts as."""
    window: int = 200
    """How many samples a mean remembers."""
    refresh_us: int = 25_000
    """How often running jobs are charged for what they have run beyond their charge; less often
    with thousands of them."""
    turn_us: int = 1000
    """How long one turn of a lane may occupy the whole fleet. Shorter jobs share a turn: ten
    thousand lanes of one-millisecond jobs would otherwise cost more to order than to run."""
    idle_lanes_max: int = 20_000
    """Lanes without work that are remembered, for their means, before some are forgotten."""
    short: ShortSettings | None = ShortSettings()
    """None: no slot is kept for short jobs."""
    evict_after_us: int | None = None
    """How long a tenant without a slot waits until running jobs are asked to make room; None:
    for ever."""


class KeyLimit(NamedTuple):
    """One key of a queue: at most `limit` jobs of one value in flight."""

    path: str
    """`payload` or `headers`, then names of fields, with dots between them."""
    limit: int
    per_tenant: bool = False
    """Whether each tenant's jobs count by themselves."""
