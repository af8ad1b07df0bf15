"""The stabilization window: a pool shrinks to the highest recent need and no further."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class NeedPoint:
    """How many pods were needed at an instant."""

    at: datetime
    pods: int


def with_need(
    recent_needs: tuple[NeedPoint, ...], point: NeedPoint, window: timedelta
) -> tuple[NeedPoint, ...]:
    """Return the points that may still be the highest within the window, plus a new one.

    Oldest first, each above all later ones: an earlier one that is not above a later one can
    never count again. The same point twice changes nothing.
    """
    since = point.at - window
    above = tuple(each for each in recent_needs if each.pods > point.pods and each.at >= since)
    return (*above, point)


def highest(recent_needs: tuple[NeedPoint, ...]) -> int:
    """Return the highest need within the window; there is at least one point."""
    return max(each.pods for each in recent_needs)
