"""How the connections of one PostgreSQL are shared by pools that want pods.

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
    """Connections that there are for pods, and what the pods of each pool hold or may hold."""

    connections: int
    held: Mapping[str, int]

    def of(self, pool: str) -> int:
        """Return what a pool's pods may hold together: what they do, and all that is left."""
        left = self.connections - sum(self.held.values())
        return self.held.get(pool, 0) + max(0, left)

    def taken(self, pool: str, connections: int) -> "Budget":
        """Return the budget after a decision on a pool that lets its pods hold so many."""
        most = max(connections, self.held.get(pool, 0))
        return Budget(self.connections, {**self.held, pool: most})


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
