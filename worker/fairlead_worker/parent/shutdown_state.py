"""The stages in which a worker stops, each with its time limit.

serving -> draining    asked to stop, or all is done: not ready; children claim no more, return
                       what has not started, and let running handlers finish
        -> releasing   grace is over, or asked again: handlers are stopped, with a moment to end
        -> killing     the moment is over: every child is killed
        -> leaving     no child lives: what they held is handed back, the lease is given up
        -> gone        that is done, or the database did not answer in time

Pure: inputs go in, the next stage comes out.
"""

from dataclasses import dataclass
from enum import IntEnum


class ShutdownStage(IntEnum):
    """How far the shutdown has come; it only ever grows."""

    SERVING = 0
    DRAINING = 1
    RELEASING = 2
    KILLING = 3
    LEAVING = 4
    GONE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownInputs:
    """What decides the next stage; `stage_seconds` is how long this one has lasted."""

    stop_requested: bool
    stop_requested_again: bool
    children: int
    deregistered: bool
    stage_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownLimits:
    """How long each stage may last."""

    grace_seconds: float
    release_seconds: float = 1.5
    leave_seconds: float = 5.0


def next_stage(
    stage: ShutdownStage, inputs: ShutdownInputs, limits: ShutdownLimits
) -> ShutdownStage:
    """Return the stage that follows, or the same one while it lasts."""
    if stage == ShutdownStage.SERVING:
        return ShutdownStage.DRAINING if inputs.stop_requested else stage
    if stage < ShutdownStage.LEAVING and inputs.children == 0:
        return ShutdownStage.LEAVING
    if stage == ShutdownStage.DRAINING:
        over = inputs.stop_requested_again or inputs.stage_seconds >= limits.grace_seconds
        return ShutdownStage.RELEASING if over else stage
    if stage == ShutdownStage.RELEASING:
        return (
            ShutdownStage.KILLING if inputs.stage_seconds >= limits.release_seconds else stage
        )
    if stage == ShutdownStage.LEAVING:
        over = inputs.deregistered or inputs.stage_seconds >= limits.leave_seconds
        return ShutdownStage.GONE if over else stage
    return stage
