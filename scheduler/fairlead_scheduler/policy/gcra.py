"""Rate limits: the generic cell rate algorithm, one instant for each window.

In its virtual scheduling form (ITU-T I.371) the *theoretical arrival time* is when the window
would be empty again, and a job may go while that is less than a burst ahead. In any interval of
t microseconds at most `burst + t * limit / per_us` jobs go.

Instants are counted in microseconds times the limit, in which each job takes `per_us`, so no
interval is ever rounded.
"""

from typing import NamedTuple


class Rate(NamedTuple):
    """One window of a rate: `limit` jobs per `per_us`, and at most `burst` at once."""

    limit: int
    per_us: int
    burst: int


class WindowUsage(NamedTuple):
    """The use of a window, as it is stored.

    `tenant` is None for a queue's own window.
    """

    queue: str
    tenant: str | None
    per_us: int
    empty_us: int
    """When the window will be empty, rounded up."""
    limit: int | None = None
    """The limit with which `empty_us` was computed; None for a stored one: the one in force."""


def jobs_allowed(rate: Rate, arrival: int, now_us: int) -> int:
    """Return how many jobs may go now."""
    now = now_us * rate.limit
    return (now - max(arrival, now)) // rate.per_us + rate.burst


def arrival_after(rate: Rate, arrival: int, count: int, now_us: int) -> int:
    """Return the arrival time after so many jobs have gone now."""
    return max(arrival, now_us * rate.limit) + count * rate.per_us


def release_us(rate: Rate, arrival: int) -> int:
    """Return the instant from which a job may go."""
    return -(((rate.burst - 1) * rate.per_us - arrival) // rate.limit)


def empty_us(rate: Rate, arrival: int) -> int:
    """Return when the window will be empty, rounded up."""
    return -(-arrival // rate.limit)


def carry_over(rate: Rate, used: WindowUsage, now_us: int) -> int:
    """Return the arrival time of a window that may have been computed with another limit.

    Jobs in the window stay in it: a new limit forgives none, and does not make them wait as
    long as the old one would have. A stored window is full at most: what lies further ahead is
    from before the database's clock was set back.
    """
    left_us = max(0, used.empty_us - now_us)
    if used.limit is None:
        return now_us * rate.limit + min(left_us * rate.limit, rate.burst * rate.per_us)
    return now_us * rate.limit + left_us * used.limit
