"""The fleet at one moment: queues, tenants, pools and workers, all of it bounded."""

from typing import TYPE_CHECKING

from fairlead.inspection.pool_routing import placed
from fairlead.inspection.rows import Row, ask

if TYPE_CHECKING:
    from fairlead.db.connect import Connection


def queues(connection: "Connection") -> list[Row]:
    """Read every queue with unfinished work, with its pool where the policy has some."""
    return placed(connection, ask(connection, "queues"))


def tenants(connection: "Connection", *, queue: str | None, limit: int) -> list[Row]:
    """Read the tenants with most work, or that had most of the slots of late."""
    return ask(connection, "tenants", {"queue": queue, "limit": limit})


def shares(connection: "Connection") -> list[Row]:
    """Read how old each pool's fairness report is, and how even it says that things are."""
    return ask(connection, "shares")


def workers(connection: "Connection", *, dead_seconds: int | None) -> list[Row]:
    """Read the workers: the living, and those that died so short a time ago; None: all."""
    return ask(connection, "workers", {"dead_seconds": dead_seconds})


def pool_decisions(connection: "Connection", pool: str | None = None) -> list[Row]:
    """Read what the autoscaler decided last for each pool, or for one."""
    return ask(connection, "pool_decisions", {"pool": pool})


def counters(connection: "Connection") -> Row:
    """Read what grows with what was inserted, started and ended."""
    return ask(connection, "counters")[0]
