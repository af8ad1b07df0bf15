"""How pools that want pods share what is scarce: connections, and what quotas count.

A pool keeps what its pods use. What is free goes to the pools in the order of decision, and so
first to those whose oldest job has waited for the largest part of its objective.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.inputs import Demand
from fairlead_autoscaler.decision.quotas import QuotaShare


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
class ServerConnections:
    """What PostgreSQL has."""

    most: int
    """Its `max_connections`."""
    reserved: int
    """Those that only superusers and `pg_use_reserved_connections` may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolerClients:
    """What the pooler before PostgreSQL accepts."""

    given: int | None
    """By `capacity.poolerConnections`."""
    told: int | None
    """By what it says itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimit:
    """What all pods may hold together, and what that comes from."""

    total: int
    detail: str


def connection_limit(
    server: ServerConnections, pooler: PoolerClients | None, *, reserve: int
) -> ConnectionLimit | None:
    """Return what bounds the connections of pods; None: nothing that is known.

    Behind a pooler pods are its clients. It shares the server's few connections among them, and
    those that find none wait.

    Args:
        server: What the server has.
        pooler: What the pooler accepts; None: programs connect to the server itself.
        reserve: What the policy leaves to others.
    """
    kept = f"{reserve} by capacity.connectionsReserve"
    held = f"{server.reserved} reserved by it and {kept}"
    if pooler is None:
        return ConnectionLimit(
            total=max(0, server.most - server.reserved - reserve),
            detail=f"{server.most} max_connections, {held}",
        )
    clients = pooler.told if pooler.given is None else pooler.given
    if clients is None:
        return None
    source = "as it says" if pooler.given is None else "by capacity.poolerConnections"
    return ConnectionLimit(
        total=max(0, clients - reserve),
        detail=f"{clients} clients of the pooler, {source}, reserved {kept}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResources:
    """What pools share."""

    connections: Budget | None
    """None: nothing bounds them."""
    quotas: tuple[QuotaShare, ...]

    def after(self, pool: str, pods: int, *, connections_per_pod: int) -> "SharedResources":
        """Return what is left after a decision that may bring a pool to so many pods."""
        held = connections_per_pod * pods
        connections = None if self.connections is None else self.connections.after(pool, held)
        left = tuple(each.after(pool, pods) for each in self.quotas)
        return SharedResources(connections=connections, quotas=left)


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
