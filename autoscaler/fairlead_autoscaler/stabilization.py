"""The most that was needed of late: a pool shrinks to that and no further."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Point:
    """How many pods were needed at an instant."""

    at: datetime
    pods: int


def noted(points: tuple[Point, ...], point: Point, window: timedelta) -> tuple[Point, ...]:
    """Return the points that may still be the most within the window, with one more.

    Oldest first, and each above all later ones: an earlier one that is not above a later one
    would never count again. The same point twice changes nothing.
    """
    since = point.at - window
    above = tuple(each for each in points if each.pods > point.pods and each.at >= since)
    return (*above, point)


def most(points: tuple[Point, ...]) -> int:
    """Return the most that was needed within the window; there is one point at least."""
    return max(each.pods for each in points)
