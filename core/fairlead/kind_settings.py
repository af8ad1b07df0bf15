"""Settings of a kind, held to their bounds: what a handler's decorator is given.

What is out of bounds is a ValueError, and what is of another type a TypeError; its sentence
names the setting and the kind.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple, TypeAlias, cast

from fairlead import errors
from fairlead.job import MAX_ATTEMPTS
from fairlead.kind_defaults import Defaults

Backoff: TypeAlias = float | timedelta | Callable[[int], float | timedelta]

KIND_BYTES_MAX = QUEUE_BYTES_MAX = 128
MAX_ATTEMPTS_HIGHEST = 1000
PRIORITY_HIGHEST = 100
TIMEOUT_SECONDS_LOWEST = 0.001
TIMEOUT_SECONDS_MAX = 30 * 86_400.0


class Again(NamedTuple):
    """When a run that did not end by itself begins again."""

    evictable: bool
    at_most_once: bool


def timeout_seconds(kind: str, timeout: float | timedelta | None) -> float | None:
    """Return the timeout of a kind in seconds."""
    if timeout is None:
        return None
    name = f"timeout of {kind!r}"
    number = errors.seconds(name, timeout, at_most=TIMEOUT_SECONDS_MAX)
    if number < TIMEOUT_SECONDS_LOWEST:
        raise ValueError(f"{name} must be at least {TIMEOUT_SECONDS_LOWEST} s, not {number:g}")
    return number


def defaults(
    kind: str,
    queue: str | None,
    priority: int | None,
    max_attempts: int | None,
    timeout: float | timedelta | None,
) -> Defaults:
    """Return what a handler says of the jobs of its kind."""
    if not 1 <= len(kind.encode()) <= KIND_BYTES_MAX:
        raise ValueError(f"kind must be 1 to {KIND_BYTES_MAX} bytes, not {kind!r}")
    if queue is not None and not 1 <= len(queue.encode()) <= QUEUE_BYTES_MAX:
        raise ValueError(
            f"queue of {kind!r} must be 1 to {QUEUE_BYTES_MAX} bytes, not {queue!r}"
        )
    attempts_name, priority_name = f"max_attempts of {kind!r}", f"priority of {kind!r}"
    return Defaults(
        queue=queue,
        priority=within(priority_name, priority, -PRIORITY_HIGHEST, PRIORITY_HIGHEST),
        max_attempts=within(attempts_name, max_attempts, 1, MAX_ATTEMPTS_HIGHEST),
        timeout_seconds=timeout_seconds(kind, timeout),
    )


def attempts(kind: str, said: int | None, again: Again) -> int:
    """Return how many attempts a job of a kind has that does not say."""
    if not again.at_most_once:
        return said or MAX_ATTEMPTS
    if said not in {None, 1}:
        raise ValueError(f"{kind!r} runs at most once: max_attempts must be 1, not {said}")
    if again.evictable:
        raise ValueError(f"{kind!r} runs at most once: it cannot be evictable, to run again")
    return 1


def within(name: str, number: int | None, lowest: int, highest: int) -> int | None:
    """Return a number if it is within its bounds."""
    if not (number is None or isinstance(cast("object", number), int)):
        raise TypeError(f"{name} is {number!r}: give a whole number")
    if number is not None and not lowest <= number <= highest:
        raise ValueError(f"{name} must be {lowest} to {highest}, not {number}")
    return number


def backoff_seconds(kind: str, backoff: Backoff | None) -> Callable[[int], float] | None:
    """Return the function that gives the seconds to wait after so many failures."""
    name = f"backoff of {kind!r}"
    if backoff is None:
        return None
    if callable(backoff):
        wait = backoff
        return lambda failures: errors.seconds(
            name, wait(failures), at_most=errors.DELAY_SECONDS_MAX
        )
    constant = errors.seconds(name, backoff, at_most=errors.DELAY_SECONDS_MAX)
    return lambda _failures: constant
