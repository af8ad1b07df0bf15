"""The five conditions of a pool; a change of one, or of `replicas`, is worth an event.

| condition | not as it should be when |
|---|---|
| Ready | the controller may not act: no answer of PostgreSQL, or another writer |
| Active | the pool is at zero |
| ScalingLimited | a limit caps the pods, or something forbids removing them |
| MetricsStale | the demand or the view of the cluster is too old, or there is none yet |
| Paused | an operator switched autoscaling off, wholly or in part |

A change of the reason alone is no transition: near a boundary the reason flips every few ticks
although nothing happens. For the same purpose a condition adopts a reason at once, and drops it
only after it has not applied for a while, or others have weighed more for half a minute.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from fairlead_autoscaler.decision.reasons import Reason


class PoolCondition(StrEnum):
    """The conditions of a pool."""

    READY = "Ready"
    ACTIVE = "Active"
    SCALING_LIMITED = "ScalingLimited"
    METRICS_STALE = "MetricsStale"
    PAUSED = "Paused"


SETTLED = {
    PoolCondition.READY: timedelta(seconds=15),
    PoolCondition.METRICS_STALE: timedelta(seconds=15),
    PoolCondition.SCALING_LIMITED: timedelta(minutes=5),
}
"""How long a reason must not have applied before it is dropped; other conditions: at once."""
OUTWEIGHED = timedelta(seconds=30)
"""How long others must have weighed more before a reason that still applies is dropped."""
_GOOD = frozenset({PoolCondition.READY, PoolCondition.ACTIVE})
_OF_REASON = {
    Reason.DATABASE_UNREACHABLE: (PoolCondition.READY, PoolCondition.METRICS_STALE),
    Reason.FOREIGN_WRITER: (PoolCondition.READY,),
    Reason.FOREIGN_AUTOSCALER: (PoolCondition.READY,),
    Reason.DEMAND_AWAITED: (PoolCondition.METRICS_STALE,),
    Reason.DEMAND_STALE: (PoolCondition.METRICS_STALE,),
    Reason.CLUSTER_STALE: (PoolCondition.METRICS_STALE,),
    Reason.PAUSED: (PoolCondition.PAUSED,),
    Reason.HELD_IN: (PoolCondition.PAUSED,),
    Reason.HELD_OUT: (PoolCondition.PAUSED,),
    Reason.DRY_RUN: (PoolCondition.PAUSED,),
    Reason.EMPTY: (PoolCondition.ACTIVE,),
}
"""The conditions that a reason affects; every other reason: ScalingLimited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionState:
    """A condition as last published."""

    condition: PoolCondition
    reason: Reason | None
    """Why it is not as it should be; None: it is."""
    since: datetime
    """Since when its status has been what it is."""
    confirmed_at: datetime
    """The last tick at which the reason applied."""
    foremost_at: datetime
    """The last tick at which no other one weighed more."""

    @property
    def status(self) -> bool:
        """Whether the condition is true."""
        return (self.reason is None) is (self.condition in _GOOD)


def updated(
    former: tuple[ConditionState, ...], reasons: tuple[Reason, ...], now: datetime
) -> tuple[ConditionState, ...]:
    """Return every condition; the same inputs twice change nothing.

    Args:
        former: The former conditions; empty: none were published yet.
        reasons: What forbids or limits now, the weightiest first; `EMPTY` for a pool at zero.
        now: The database's time.
    """
    known = {each.condition: each for each in former}
    return tuple(
        _next(
            known.get(condition),
            condition,
            tuple(each for each in reasons if condition in conditions_of(each)),
            now,
        )
        for condition in PoolCondition
    )


def has_changed(former: tuple[ConditionState, ...], later: tuple[ConditionState, ...]) -> bool:
    """Return whether a condition changed; the first time, whether one is not as expected."""
    before = {each.condition: each.reason for each in former}
    return any(each.reason is not before.get(each.condition) for each in later)


def conditions_of(reason: Reason) -> tuple[PoolCondition, ...]:
    """Return the conditions that a reason affects."""
    return _OF_REASON.get(reason, (PoolCondition.SCALING_LIMITED,))


def _next(
    former: ConditionState | None,
    condition: PoolCondition,
    reasons: tuple[Reason, ...],
    now: datetime,
) -> ConditionState:
    reason = next(iter(reasons), None)
    fresh = ConditionState(
        condition=condition, reason=reason, since=now, confirmed_at=now, foremost_at=now
    )
    if former is None:
        return fresh
    if former.reason is reason:
        return replace(former, confirmed_at=now, foremost_at=now)
    if former.reason in reasons and now - former.foremost_at < OUTWEIGHED:
        return replace(former, confirmed_at=now)
    settled = SETTLED.get(condition, timedelta())
    applies = former.reason in reasons
    if former.reason is not None and not applies and now - former.confirmed_at < settled:
        return former
    return replace(fresh, since=former.since) if former.status is fresh.status else fresh
