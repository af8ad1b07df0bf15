"""Which pools a change of policy affects: those between which it moves queues.

A moved queue takes slots in one pool and frees some in another, so both are simulated, and so
is every pool connected to them by further moves. Without moves only one pool is simulated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fairlead_scheduler.policy.pool_routing import PoolRouting

_MOVES_NAMED_MAX = 10


class MovedQueue(NamedTuple):
    """A queue that another pool serves under the new policy; None: no pool serves it."""

    queue: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedPools:
    """The simulated pools, and the queues they serve under either policy."""

    pools: tuple[str, ...]
    """The requested pool comes first."""
    queues: frozenset[str]
    moves: tuple[MovedQueue, ...] = ()
    """Sorted by queue."""

    def notes(self, slots: Mapping[str, int]) -> list[str]:
        """Return sentences about moved queues and about pools without slots."""
        notes = [_sentence(move) for move in self.moves[:_MOVES_NAMED_MAX]]
        if len(self.moves) > _MOVES_NAMED_MAX:
            notes.append(f"{len(self.moves) - _MOVES_NAMED_MAX} more queues move between pools")
        idle = [pool for pool in self.pools if not slots.get(pool)]
        notes += [
            f"pool '{pool}' has no live worker: its queues wait until the end" for pool in idle
        ]
        return notes


def affected_pools(
    pool: str, queues: Iterable[str], old: PoolRouting, new: PoolRouting
) -> AffectedPools:
    """Return the pools and queues to simulate with a pool.

    Args:
        pool: The requested pool. It serves all queues of a policy that names no pools.
        queues: All queues that have jobs, or had some lately.
        old: The routing of the policy in force.
        new: The routing of the other policy.
    """
    routes = [
        MovedQueue(q, old.pool_of(q, pool), new.pool_of(q, pool)) for q in sorted(set(queues))
    ]
    moves = [each for each in routes if each.old != each.new]
    pools = {pool: None}
    for _ in moves:
        known = len(pools)
        for move in moves:
            ends = [each for each in (move.old, move.new) if each is not None]
            if any(each in pools for each in ends):
                pools.update(dict.fromkeys(ends))
        if len(pools) == known:
            break

    def is_in(move: MovedQueue) -> bool:
        return move.old in pools or move.new in pools

    return AffectedPools(
        pools=tuple(pools),
        queues=frozenset(each.queue for each in routes if is_in(each)),
        moves=tuple(each for each in moves if is_in(each)),
    )


def _sentence(move: MovedQueue) -> str:
    if move.new is None:
        return (
            f"no pool serves queue '{move.queue}' under the new policy: it waits until the end"
        )
    if move.old is None:
        return f"queue '{move.queue}', which no pool serves, moves to pool '{move.new}'"
    return f"queue '{move.queue}' moves from pool '{move.old}' to '{move.new}'"
