"""What stopping a worker means, step by step.

serving -> draining    asked to stop, or all is done: not ready; children claim no more, return
                       what has not started, and finish what runs
        -> releasing   grace is over, or asked again: handlers are told, and get a moment
        -> killing     the moment is over: every child is killed
        -> leaving     no child lives: what they held is handed back, the lease is given up
        -> gone        that is done, or the database did not answer in time

Pure: what is seen goes in, the next step comes out.
"""

from dataclasses import dataclass
from enum import IntEnum


class Stage(IntEnum):
    """How far the stop has come; it only ever grows."""

    SERVING = 0
    DRAINING = 1
    RELEASING = 2
    KILLING = 3
    LEAVING = 4
    GONE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What decides about the next step; `here_seconds` is how long this one has lasted."""

    asked: bool
    asked_again: bool
    children: int
    left: bool
    here_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long each step may last."""

    grace_seconds: float
    release_seconds: float = 1.5
    leave_seconds: float = 5.0


def next_stage(stage: Stage, seen: Seen, limits: Limits) -> Stage:
    """Return the step that follows, or the same one while it lasts."""
    if stage == Stage.SERVING:
        return Stage.DRAINING if seen.asked else stage
    if stage < Stage.LEAVING and seen.children == 0:
        return Stage.LEAVING
    if stage == Stage.DRAINING:
        over = seen.asked_again or seen.here_seconds >= limits.grace_seconds
        return Stage.RELEASING if over else stage
    if stage == Stage.RELEASING:
        return Stage.KILLING if seen.here_seconds >= limits.release_seconds else stage
    if stage == Stage.LEAVING:
        over = seen.left or seen.here_seconds >= limits.leave_seconds
        return Stage.GONE if over else stage
    return stage
