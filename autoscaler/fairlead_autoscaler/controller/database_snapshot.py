"""What one query to the database returns about all pools."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from fairlead_autoscaler.controller.budget import ServerConnections
from fairlead_autoscaler.decision.inputs import Demand, PodLoad, Worker

T = TypeVar("T")
_NAME_CHARACTERS_MAX = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWorker(Worker):
    """A live worker, and the pool that it serves."""

    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLoad(PodLoad):
    """What workers of a pool hold in a pod; any of their logins may name any pod."""

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
    loads: tuple[PoolLoad, ...]
    connections: ServerConnections
    policy: PolicyVersion | None
    """None: no policy was ever stored."""
    queues: tuple[str, ...]
    """Those that have a job that is due; read only while a pool is at zero."""
    unreadable: tuple[str, ...] = ()
    """What was left out because no decision could use it, such as a worker that started at
    infinity: a sentence for each."""


_DEMAND = TypeAdapter(tuple[Demand, ...])
_WORKERS = TypeAdapter(tuple[PoolWorker, ...])
_LOADS = TypeAdapter(tuple[PoolLoad, ...])
_VERSION = TypeAdapter(PolicyVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRow:
    """The row as returned, its lists as JSON."""

    now: datetime
    demand: str
    workers: str
    loads: str
    connections_max: int
    connections_reserved: int
    policy: str | None
    queues: list[str]


def read(row: SnapshotRow) -> Snapshot:
    """Return the snapshot of a row, without what cannot be read of it."""
    unreadable: list[str] = []
    demand = _readable(_DEMAND, "demand", row.demand, unreadable)
    return Snapshot(
        now=row.now,
        demand={each.pool: each for each in demand},
        workers=_readable(_WORKERS, "worker", row.workers, unreadable),
        loads=_readable(_LOADS, "load", row.loads, unreadable),
        connections=ServerConnections(
            most=row.connections_max, reserved=row.connections_reserved
        ),
        policy=None if row.policy is None else _VERSION.validate_json(row.policy),
        queues=tuple(row.queues),
        unreadable=tuple(unreadable),
    )


def _readable(
    kind: TypeAdapter[tuple[T, ...]], what: str, text: str, unreadable: list[str]
) -> tuple[T, ...]:
    """Return the entries of a list that can be read, and add a sentence for each other one."""
    try:
        return kind.validate_json(text)
    except ValidationError:
        pass
    found: list[T] = []
    for entry in cast("list[dict[str, object]]", json.loads(text)):
        try:
            found += kind.validate_python((entry,))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            field = ".".join(map(str, first["loc"][1:]))
            name = str(entry.get("pod_uid") or entry.get("pool"))[:_NAME_CHARACTERS_MAX]
            said = str(first["input"])[:_NAME_CHARACTERS_MAX]
            unreadable.append(f"{what} of {name!r}: {field} is {said!r}: {first['msg']}")
    return tuple(found)
