"""Pool routing, that part of a policy that says which pool serves which queue, compiled.

The first pool that names a queue serves it. Without `pools` one pool serves all queues.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.policy import Pool, glob
from fairlead_scheduler.policy.first_match import FirstMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The time limits of one attempt, in seconds; None: those of the scheduler's settings."""

    default_seconds: float | None = None
    max_seconds: float | None = None


SETTINGS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRouting:
    """The pools of a policy; without names, one pool serves all queues."""

    names: tuple[str, ...] = ()
    queues: FirstMatch[str] = field(default_factory=FirstMatch[str], compare=False)
    timeouts: Mapping[str, Timeouts] = field(default_factory=dict[str, Timeouts])
    pools: tuple[Pool, ...] = ()
    """The pools as the policy has them."""

    def pool_of(self, queue: str, only: str) -> str | None:
        """Return the pool that serves a queue; None: none does.

        Args:
            queue: The queue's name.
            only: The pool that serves all queues where the policy names none.
        """
        return self.queues.find(queue) if self.names else only

    def timeouts_of(self, pool: str) -> Timeouts:
        """Return the time limits of a pool's attempts."""
        return self.timeouts.get(pool, SETTINGS)


def compile_pools(pools: Sequence[Pool]) -> PoolRouting:
    """Compile the pools of a policy."""
    entries = [(glob(queue), pool.name) for pool in pools for queue in pool.queues]
    return PoolRouting(
        names=tuple(pool.name for pool in pools),
        queues=FirstMatch(entries),
        timeouts={pool.name: _timeouts(pool) for pool in pools},
        pools=tuple(pools),
    )


def _timeouts(pool: Pool) -> Timeouts:
    default, most = pool.timeout_default, pool.timeout_max
    return Timeouts(
        default_seconds=None if default is None else default.total_seconds(),
        max_seconds=None if most is None else most.total_seconds(),
    )
