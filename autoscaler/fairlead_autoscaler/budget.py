"""How what is scarce is shared by pools that want pods: connections, and pods of a quota.

What a pool's pods hold is the pool's. What is left goes to whoever is decided on first, and so
those whose oldest job has waited for the largest part of its objective go first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.inputs import Demand


@dataclass(frozen=True, slots=True)
class Budget:
    """What there is for all pods, and what the pods of each pool hold or may come to hold."""

    total: int
    held: Mapping[str, int]

    def of(self, pool: str) -> int:
        """Return what a pool's pods may hold together: what they do, and all that is left."""
        left = self.total - sum(self.held.values())
        return self.held.get(pool, 0) + max(0, left)

    def taken(self, pool: str, held: int) -> "Budget":
        """Return the budget after a decision on a pool that lets its pods hold so much."""
        most = max(held, self.held.get(pool, 0))
        return Budget(self.total, {**self.held, pool: most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scarce:
    """What pools share."""

    connections: Budget
    pods: Budget | None
    """None: no quota counts pods."""

    def taken(self, pool: str, pods: int, *, connections_per_pod: int) -> "Scarce":
        """Return what is left after a decision on a pool that may bring it to so many pods."""
        connections = self.connections.taken(pool, connections_per_pod * pods)
        left = None if self.pods is None else self.pods.taken(pool, pods)
        return Scarce(connections=connections, pods=left)


def in_order(
    pools: Iterable[str],
    configs: Mapping[str, Autoscale],
    demand: Mapping[str, Demand],
    now: datetime,
) -> tuple[str, ...]:
    """Return the pools by how long their oldest job waits, as a part of their objective."""

    def waited(pool: str) -> float:
        row = demand.get(pool)
        if row is None or row.oldest_runnable_at is None:
            return 0.0
        return (now - row.oldest_runnable_at) / configs[pool].objective

    return tuple(sorted(pools, key=lambda pool: (-waited(pool), pool)))
