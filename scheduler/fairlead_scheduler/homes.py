"""Which pool serves which queue: that part of a policy, compiled to a table.

The first pool that names a queue is its home. Without the field one pool serves all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.policy import Pool, glob
from fairlead_scheduler.matches import FirstMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The budgets of one attempt, in seconds; None: those of the scheduler's settings."""

    default_seconds: float | None = None
    max_seconds: float | None = None


SETTINGS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """The pools of a policy; without names it says nothing, and the one pool serves all."""

    names: tuple[str, ...] = ()
    queues: FirstMatch[str] = field(default_factory=FirstMatch[str], compare=False)
    timeouts: Mapping[str, Timeouts] = field(default_factory=dict[str, Timeouts])
    pools: tuple[Pool, ...] = ()
    """What it was made of."""

    def of(self, queue: str, only: str) -> str | None:
        """Return the pool that serves a queue; None: none does.

        Args:
            queue: The queue's name.
            only: The pool that serves all queues where the policy names none.
        """
        return self.queues.find(queue) if self.names else only

    def timeouts_of(self, pool: str) -> Timeouts:
        """Return the budgets of attempts of a pool."""
        return self.timeouts.get(pool, SETTINGS)


def homes(pools: Sequence[Pool]) -> Homes:
    """Return the table of a policy's pools."""
    entries = [(glob(queue), pool.name) for pool in pools for queue in pool.queues]
    return Homes(
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
