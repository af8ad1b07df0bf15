"""What a mark on a worker's pod asks of it, step by step, and how it is taken back.

working -> emptying   the pod is marked: children claim no more, return what has not started,
                      and go on with what runs
        -> empty      nothing is left here: the database is asked to look, and to write it down
        -> drained    that is written: not ready, so that this pod is deleted before any other

From each of them back to working when the mark is gone or has lapsed. Nothing is remembered
but what the database says: a container that restarts in the pod comes to the same step.

Pure: what is seen goes in, the step comes out.
"""

from dataclasses import dataclass
from enum import IntEnum


class Phase(IntEnum):
    """How far a pod's mark has been heeded."""

    WORKING = 0
    EMPTYING = 1
    EMPTY = 2
    DRAINED = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """What the database says of the pod's mark, by its own clock."""

    draining: bool = False
    """The database refuses the worker's claims."""
    drained: bool = False
    """It is written there that the worker holds nothing."""


UNMARKED = Mark()


def phase_of(mark: Mark, *, empty: bool) -> Phase:
    """Return how far it is.

    Args:
        mark: What the database says.
        empty: Whether every child rests and nothing is left to be written or handed back.
    """
    if not mark.draining:
        return Phase.WORKING
    if not empty:
        return Phase.EMPTYING
    return Phase.DRAINED if mark.drained else Phase.EMPTY
