"""Which pool serves each queue, by the policy in force."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from fairlead_cli.output import policy_versions
from fairlead_cli.session import Row

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

Pools = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of pools with the names and patterns of their queues, in their order."""


def placed(connection: "Connection", queues: Sequence[Row]) -> list[Row]:
    """Return queues, each with its `pool` where the policy in force has pools.

    None: no pool of the policy serves it. Where the policy has none, or the login may not read
    it, there is no such field: one pool serves all queues then, as far as is known.
    """
    pools = _in_force(connection)
    return [
        {**row, "pool": _pool_of(pools, str(row["queue"]))} if pools else row for row in queues
    ]


def _in_force(connection: "Connection") -> Pools:
    from fairlead.policy_storage import in_force

    if not policy_versions.may_read(connection):
        return ()
    found = in_force(connection)
    return _pools(found.document) if found and "pools" in found.document else ()


@lru_cache(maxsize=1)
def _pools(document: str) -> Pools:
    """Return the pools of a document that a leader has read.

    The leader may be newer than this program: of pools that say their queues otherwise than
    this one knows, nothing is known.
    """
    from fairlead.policy.document import read

    value = cast("dict[str, list[dict[str, object]]]", read(document).value)
    pools = value.get("pools") or []
    if not all({"name", "queues"} <= pool.keys() for pool in pools):
        return ()
    return tuple(
        (str(pool["name"]), tuple(map(str, cast("list[object]", pool["queues"]))))
        for pool in pools
    )


def _pool_of(pools: Pools, queue: str) -> str | None:
    """Return the first pool that names a queue."""
    from fairlead.policy.globs import glob

    named = (pool for pool, names in pools if any(glob(name).matches(queue) for name in names))
    return next(named, None)
