"""Why a lane or a queue is blocked: the reasons, and their names in reports."""

from collections.abc import Mapping

FREE, LIMIT, RATE, PAUSED, RESERVE, KEY, HOLD, RULE, POOL, KIND = range(10)
"""Why a lane or a queue is blocked; FREE when it is not. RESERVE: slots are kept for short jobs
and the lane's are long. RULE: rules for single jobs hold all of the lane's first jobs. POOL: no
pool serves the queue. KIND: as many of the kinds of the lane's first jobs are in flight as
workers say may be."""
REASONS = {
    LIMIT: "limit",
    RATE: "rate",
    PAUSED: "paused",
    RESERVE: "reserve",
    KEY: "key",
    HOLD: "hold",
    RULE: "hold",
    POOL: "pool",
    KIND: "kind",
}
FULL = "full"
"""What a lane is called that the order sees as paused and nobody has paused: workers pass over
its rows until they have room for their kinds."""
BOUNDS = frozenset({LIMIT, RATE, HOLD})
"""Reasons that come from a full limiter."""
PASSING = frozenset({PAUSED, KEY, RULE, POOL, KIND})
"""Reasons that are checked anew whenever a lane is admitted."""


def counts_by_name(counts: Mapping[int, int]) -> dict[str, int]:
    """Return counts by the reasons' names; two reasons may share a name."""
    found = dict.fromkeys(REASONS.values(), 0)
    for reason, count in counts.items():
        found[REASONS[reason]] += count
    return found
