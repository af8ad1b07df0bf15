"""What one query to the database returns about all pools."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from fairlead_autoscaler.decision.inputs import Demand, PodLoad, Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWorker(Worker):
    """A live worker, and the pool that it serves."""

    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """The newest policy; its document only if it differs from the known version."""

    version: int
    digest: str
    document: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The database at one moment."""

    now: datetime
    demand: Mapping[str, Demand]
    """By pool."""
    workers: tuple[PoolWorker, ...]
    loads: tuple[PodLoad, ...]
    connections: int
    """What the server offers to logins without special rights."""
    policy: PolicyVersion | None
    """None: no policy was ever stored."""
    queues: tuple[str, ...]
    """Those that have a job that is due; read only while a pool is at zero."""


_DEMAND = TypeAdapter(tuple[Demand, ...])
_WORKERS = TypeAdapter(tuple[PoolWorker, ...])
_LOADS = TypeAdapter(tuple[PodLoad, ...])
_VERSION = TypeAdapter(PolicyVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRow:
    """The row as returned, its lists as JSON."""

    now: datetime
    demand: str
    workers: str
    loads: str
    connections: int
    policy: str | None
    queues: list[str]


def read(row: SnapshotRow) -> Snapshot:
    """Return the snapshot of a row."""
    demand = _DEMAND.validate_json(row.demand)
    return Snapshot(
        now=row.now,
        demand={each.pool: each for each in demand},
        workers=_WORKERS.validate_json(row.workers),
        loads=_LOADS.validate_json(row.loads),
        connections=row.connections,
        policy=None if row.policy is None else _VERSION.validate_json(row.policy),
        queues=tuple(row.queues),
    )
