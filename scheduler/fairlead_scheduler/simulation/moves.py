"""Which pools a change of policy concerns: those between which it moves queues.

A queue that moves takes slots in one pool and leaves some in another, so both are played, and
those that have moves with these. Where no queue moves it is one pool, whatever others there
are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fairlead_scheduler.homes import Homes

_MOVES_TOLD_MAX = 10


class Move(NamedTuple):
    """A queue that another pool serves under the new policy; None: none does."""

    queue: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """The pools that are played, and the queues that they serve under either policy."""

    pools: tuple[str, ...]
    """The one that was asked for first."""
    queues: frozenset[str]
    moves: tuple[Move, ...] = ()
    """By the names of the queues."""

    def notes(self, slots: Mapping[str, int]) -> list[str]:
        """Return what is to be said of moves, and of pools without slots, in sentences."""
        told = [_sentence(move) for move in self.moves[:_MOVES_TOLD_MAX]]
        if len(self.moves) > _MOVES_TOLD_MAX:
            told.append(f"{len(self.moves) - _MOVES_TOLD_MAX} more queues move between pools")
        idle = [pool for pool in self.pools if not slots.get(pool)]
        told += [
            f"pool '{pool}' has no live worker: what it serves waits to the end"
            for pool in idle
        ]
        return told


def concerned(pool: str, queues: Iterable[str], old: Homes, new: Homes) -> Concerned:
    """Return what is played with a pool.

    Args:
        pool: The one that was asked for. It serves all queues of a policy that names no pools.
        queues: All that have jobs, or had some lately.
        old: The pools of the policy in force.
        new: Those of the other one.
    """
    homes = [Move(q, old.of(q, pool), new.of(q, pool)) for q in sorted(set(queues))]
    moves = [each for each in homes if each.old != each.new]
    pools = {pool: None}
    for _ in moves:
        known = len(pools)
        for move in moves:
            ends = [each for each in (move.old, move.new) if each is not None]
            if any(each in pools for each in ends):
                pools.update(dict.fromkeys(ends))
        if len(pools) == known:
            break

    def is_in(move: Move) -> bool:
        return move.old in pools or move.new in pools

    return Concerned(
        pools=tuple(pools),
        queues=frozenset(each.queue for each in homes if is_in(each)),
        moves=tuple(each for each in moves if is_in(each)),
    )


def _sentence(move: Move) -> str:
    if move.new is None:
        return f"no pool serves queue '{move.queue}' under the new policy: it waits to the end"
    if move.old is None:
        return f"queue '{move.queue}', which no pool serves, moves to pool '{move.new}'"
    return f"queue '{move.queue}' moves from pool '{move.old}' to '{move.new}'"
