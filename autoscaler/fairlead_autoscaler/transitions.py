"""What is told of a pool: five conditions, and an event when one of them or `replicas` changes.

| condition | not as it should be when |
|---|---|
| Ready | nothing may be done: PostgreSQL does not answer, or another one writes |
| Active | the pool is at zero |
| ScalingLimited | a limit holds pods back, or something forbids to take them away |
| MetricsStale | what is known of the demand or of the cluster is too old, or nothing is yet |
| Paused | somebody switched off all or a part of it |

The reason of a decision is no transition: near a boundary it is another one every few ticks,
though nothing happens. For the same cause a condition takes a reason at once, and gives it up
only when it did not hold for a while.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from fairlead_autoscaler.reasons import Reason


class Condition(StrEnum):
    """What is said of a pool."""

    READY = "Ready"
    ACTIVE = "Active"
    SCALING_LIMITED = "ScalingLimited"
    METRICS_STALE = "MetricsStale"
    PAUSED = "Paused"


SETTLED = {
    Condition.READY: timedelta(seconds=15),
    Condition.METRICS_STALE: timedelta(seconds=15),
    Condition.SCALING_LIMITED: timedelta(minutes=5),
}
"""For how long a reason must not have held until it is given up; others: not at all."""
_GOOD = frozenset({Condition.READY, Condition.ACTIVE})
_OF_REASON = {
    Reason.DATABASE_UNREACHABLE: (Condition.READY, Condition.METRICS_STALE),
    Reason.FOREIGN_WRITER: (Condition.READY,),
    Reason.FOREIGN_AUTOSCALER: (Condition.READY,),
    Reason.DEMAND_AWAITED: (Condition.METRICS_STALE,),
    Reason.DEMAND_STALE: (Condition.METRICS_STALE,),
    Reason.CLUSTER_STALE: (Condition.METRICS_STALE,),
    Reason.PAUSED: (Condition.PAUSED,),
    Reason.HELD_IN: (Condition.PAUSED,),
    Reason.HELD_OUT: (Condition.PAUSED,),
    Reason.DRY_RUN: (Condition.PAUSED,),
    Reason.EMPTY: (Condition.ACTIVE,),
}
"""Which conditions a reason speaks against; every other one: ScalingLimited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A condition as it was told."""

    condition: Condition
    reason: Reason | None
    """What speaks against it, or for it where that is bad; None: it is as it should be."""
    since: datetime
    """Since when it is true or not true."""
    held_at: datetime
    """The last look at which it was just so."""

    @property
    def status(self) -> bool:
        """Whether it is true."""
        return (self.reason is None) is (self.condition in _GOOD)


def told(
    former: tuple[Told, ...], reasons: tuple[Reason, ...], now: datetime
) -> tuple[Told, ...]:
    """Return every condition; the same look twice changes nothing.

    Args:
        former: As they were; empty: nothing was told yet.
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
        for condition in Condition
    )


def changed(former: tuple[Told, ...], later: tuple[Told, ...]) -> bool:
    """Tell whether there is something to tell; of the first look only what is not well."""
    before = {each.condition: each.reason for each in former}
    return any(each.reason is not before.get(each.condition) for each in later)


def conditions_of(reason: Reason) -> tuple[Condition, ...]:
    """Return the conditions that a reason speaks against."""
    return _OF_REASON.get(reason, (Condition.SCALING_LIMITED,))


def _next(
    former: Told | None, condition: Condition, reasons: tuple[Reason, ...], now: datetime
) -> Told:
    reason = next(iter(reasons), None)
    fresh = Told(condition=condition, reason=reason, since=now, held_at=now)
    if former is None:
        return fresh
    if former.reason is reason or former.reason in reasons:
        return replace(former, held_at=now)
    settled = SETTLED.get(condition, timedelta())
    if former.reason is not None and now - former.held_at < settled:
        return former
    return replace(fresh, since=former.since) if former.status is fresh.status else fresh
