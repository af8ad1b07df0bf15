"""Rate limits: the generic cell rate algorithm, one instant for each window.

As its virtual scheduling form (ITU-T I.371) has it: the *theoretical arrival time* is when the
window would be empty again, and a job may go while that is less than a burst ahead. In any
stretch of t microseconds at most `burst + t * limit / per_us` jobs go.

The instants here are counted in microseconds times the limit, in which each job takes `per_us`:
so no interval is ever rounded.
"""

from typing import NamedTuple


class Rate(NamedTuple):
    """One window of a rate: `limit` jobs per `per_us`, and at most `burst` at once."""

    limit: int
    per_us: int
    burst: int


class Used(NamedTuple):
    """What is used of a window, as it is stored.

    `tenant` is None for a queue's own.
    """

    queue: str
    tenant: str | None
    per_us: int
    empty_us: int
    """When the window will be empty, rounded up."""
    limit: int | None = None
    """The one by which that was reckoned; None, when it was stored: the one in force."""


def allowed(rate: Rate, arrival: int, now_us: int) -> int:
    """Return how many jobs may go now."""
    now = now_us * rate.limit
    return (now - max(arrival, now)) // rate.per_us + rate.burst


def spent(rate: Rate, arrival: int, count: int, now_us: int) -> int:
    """Return the arrival time after so many jobs have gone now."""
    return max(arrival, now_us * rate.limit) + count * rate.per_us


def release_us(rate: Rate, arrival: int) -> int:
    """Return from when on a job may go."""
    return -(((rate.burst - 1) * rate.per_us - arrival) // rate.limit)


def empty_us(rate: Rate, arrival: int) -> int:
    """Return when the window will be empty, rounded up."""
    return -(-arrival // rate.limit)


def carried(rate: Rate, used: Used, now_us: int) -> int:
    """Return the arrival time of a window that may have been reckoned by another limit.

    The jobs that are in the window stay in it: a new limit forgives none, and makes none wait
    as long as the old one would have.
    """
    left_us = max(0, used.empty_us - now_us)
    return now_us * rate.limit + left_us * (used.limit or rate.limit)
