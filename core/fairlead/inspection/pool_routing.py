"""Which pool serves each queue, by the policy in force."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from fairlead.inspection.rows import Row, ask

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


def may_read_policy(connection: "Connection") -> bool:
    """Tell whether the login may read the policy and what became of it.

    Asked first, for a refusal would be an error in the server's log at every look.
    """
    (allowed,) = ask(connection, "may_read_policy")
    return bool(allowed["may"])


def _in_force(connection: "Connection") -> Pools:
    from fairlead.policy_storage import in_force

    if not may_read_policy(connection):
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
