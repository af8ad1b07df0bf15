"""The phases in which a worker drains under its pod's drain mark.

working -> emptying   the pod is marked: children claim no more, return what has not started,
                      and go on with what runs
        -> empty      nothing is left here: the database is asked to check and store that
        -> drained    that is stored: not ready, so that this pod is deleted before any other

Each phase returns to working when the mark is gone or has lapsed. The phase follows from what
the database says alone: a container that restarts in the pod comes to the same phase.

Pure: mark and load go in, the phase comes out.
"""

from dataclasses import dataclass
from enum import IntEnum


class DrainPhase(IntEnum):
    """How far a worker has drained."""

    WORKING = 0
    EMPTYING = 1
    EMPTY = 2
    DRAINED = 3


@dataclass(frozen=True, slots=True)
class DrainMark:
    """The pod's drain mark, by the database's clock."""

    draining: bool = False
    """The database refuses the worker's claims."""
    drained: bool = False
    """It is stored that the worker holds nothing."""


UNMARKED = DrainMark()


def phase_of(mark: DrainMark, *, empty: bool) -> DrainPhase:
    """Return the phase.

    Args:
        mark: the pod's mark in the database.
        empty: whether every child is paused and nothing is left to be stored or handed back.
    """
    if not mark.draining:
        return DrainPhase.WORKING
    if not empty:
        return DrainPhase.EMPTYING
    return DrainPhase.DRAINED if mark.drained else DrainPhase.EMPTY
