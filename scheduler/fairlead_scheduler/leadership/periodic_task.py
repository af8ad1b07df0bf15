"""A task that the leader repeats while it leads."""

from collections.abc import Callable
from typing import NamedTuple


class PeriodicTask(NamedTuple):
    """A task of a background thread."""

    name: str
    every_seconds: float
    do: Callable[[], bool]
    """Returns whether more is left, so that the task runs again at once."""
    duty: float = 1.0
    """The largest share of the time that it may take: a slow task runs less often."""
    at_once: bool = True
    """Whether it first runs when the term begins, and not a period later."""
    rest: Callable[[float], float] | None = None
    """Returns the rest before the next run, given `every_seconds`, where that varies."""
