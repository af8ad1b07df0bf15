"""Whether each scale-down removed the pods that it was meant to remove.

The ReplicaSet chooses what to delete: first what has not started, then what is not ready, as
far as it knows. A pod that became ready a moment before is spared, and a working one is deleted
instead. That cannot be undone, and the grace period protects its jobs; but it is counted.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

GONE_WITHIN = timedelta(seconds=10)
"""A pod for which `replicas` was lowered is deleted within two ticks, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleDown:
    """One scale-down, until its effect is known."""

    at: datetime
    drained: frozenset[str] = frozenset()
    """The empty pods that it was meant to remove."""
    starting: frozenset[str] = frozenset()
    """Pods that had not started."""
    given_up: int = 0
    """How many of these it was meant to remove."""
    serving: frozenset[str] = frozenset()
    """The working pods, which were meant to stay."""

    def stayed(self, here: AbstractSet[str]) -> int:
        """Return how many pods are still there that were meant to go."""
        missing = len(self.starting) - len(self.starting & here)
        return len(self.drained & here) + max(0, self.given_up - missing)


@dataclass(frozen=True, slots=True)
class ScaleDownResult:
    """The effects of scale-downs."""

    open: tuple[ScaleDown, ...]
    """Those that may still take effect."""
    stayed: frozenset[str]
    """Empty pods that were not deleted."""
    wrong: int
    """Pods that were deleted in place of others."""


def settle(
    scale_downs: tuple[ScaleDown, ...], here: AbstractSet[str], at: datetime
) -> ScaleDownResult:
    """Return the effects of scale-downs.

    Args:
        scale_downs: Those that were open.
        here: The existing pods, without those that terminate.
        at: As of when that is known.
    """
    accounted = frozenset(uid for each in scale_downs for uid in each.drained)
    still: list[ScaleDown] = []
    stayed, wrong = frozenset[str](), 0
    for scale_down in scale_downs:
        each = replace(scale_down, serving=scale_down.serving - accounted)
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
    return ScaleDownResult(tuple(still), stayed, wrong)
