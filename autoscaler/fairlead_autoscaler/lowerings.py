"""What became of the times that `replicas` was lowered: whether those went that were to go.

The ReplicaSet chooses by itself whom to delete. It takes what has not started and then what is
not ready, as far as it knows; a pod that became ready a moment before is spared, and one that
works goes for it. Nothing can be done about that afterwards, and its grace protects its jobs;
but it is counted.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

GONE_WITHIN = timedelta(seconds=10)
"""A pod for which `replicas` was lowered is deleted within two ticks, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """A time that `replicas` was lowered, until it is known what became of it."""

    at: datetime
    drained: frozenset[str] = frozenset()
    """The empty pods that it was lowered for."""
    starting: frozenset[str] = frozenset()
    """Pods that had not started."""
    given_up: int = 0
    """How many of these it was lowered for."""
    serving: frozenset[str] = frozenset()
    """The pods at work, which were to stay."""

    def stayed(self, here: AbstractSet[str]) -> int:
        """Return how many pods are still there that were to go."""
        missing = len(self.starting) - len(self.starting & here)
        return len(self.drained & here) + max(0, self.given_up - missing)


@dataclass(frozen=True, slots=True)
class Followed:
    """What became of lowerings."""

    open: tuple[Lowering, ...]
    """Those that may still come true."""
    stayed: frozenset[str]
    """Empty pods that are there for good."""
    wrong: int
    """Pods that went in the place of others."""


def followed(lowerings: tuple[Lowering, ...], here: AbstractSet[str], at: datetime) -> Followed:
    """Return what became of lowerings.

    Args:
        lowerings: Those that were open.
        here: The pods that are there, without those that terminate.
        at: As of when that is known.
    """
    accounted = frozenset(uid for each in lowerings for uid in each.drained)
    still: list[Lowering] = []
    stayed, wrong = frozenset[str](), 0
    for lowering in lowerings:
        each = replace(lowering, serving=lowering.serving - accounted)
        late = each.stayed(here)
        if not late:
            continue
        if at - each.at < GONE_WITHIN:
            still.append(each)
            continue
        victims = sorted(each.serving - here)[:late]
        stayed |= each.drained & here
        wrong += len(victims)
        accounted |= frozenset(victims)
    return Followed(tuple(still), stayed, wrong)
