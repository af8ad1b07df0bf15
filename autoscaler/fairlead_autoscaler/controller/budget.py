"""How pools that want pods share what is scarce: connections, and the quota's pods.

A pool keeps what its pods use. What is free goes to the pools in the order of decision, and so
first to those whose oldest job has waited for the largest part of its objective.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.inputs import Demand


@dataclass(frozen=True, slots=True)
class Budget:
    """The total for all pods, and what the pods of each pool use or may come to use."""

    total: int
    held: Mapping[str, int]

    def of(self, pool: str) -> int:
        """Return what a pool's pods may use together: their use and all that is free."""
        free = self.total - sum(self.held.values())
        return self.held.get(pool, 0) + max(0, free)

    def after(self, pool: str, held: int) -> "Budget":
        """Return the budget after a decision that lets the pods of a pool use so much."""
        most = max(held, self.held.get(pool, 0))
        return Budget(self.total, {**self.held, pool: most})


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResources:
    """What pools share."""

    connections: Budget
    pods: Budget | None
    """None: no quota counts pods."""

    def after(self, pool: str, pods: int, *, connections_per_pod: int) -> "SharedResources":
        """Return what is left after a decision that may bring a pool to so many pods."""
        connections = self.connections.after(pool, connections_per_pod * pods)
        free = None if self.pods is None else self.pods.after(pool, pods)
        return SharedResources(connections=connections, pods=free)


def by_urgency(
    pools: Iterable[str],
    configs: Mapping[str, Autoscale],
    demand: Mapping[str, Demand],
    now: datetime,
) -> tuple[str, ...]:
    """Return the pools by their oldest job's wait over their objective, longest first."""

    def waited(pool: str) -> float:
        row = demand.get(pool)
        if row is None or row.oldest_runnable_at is None:
            return 0.0
        return (now - row.oldest_runnable_at) / configs[pool].objective

    return tuple(sorted(pools, key=lambda pool: (-waited(pool), pool)))
