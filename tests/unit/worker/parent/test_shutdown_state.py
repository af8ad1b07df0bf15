"""A shutdown goes forward stage by stage, and each stage ends for one of two reasons."""

import pytest

from fairlead_worker.parent.shutdown_state import (
    ShutdownInputs,
    ShutdownLimits,
    ShutdownStage,
    next_stage,
)

LIMITS = ShutdownLimits(grace_seconds=30, release_seconds=1.5, leave_seconds=5)


def inputs(
    *,
    stop_requested: bool = True,
    stop_requested_again: bool = False,
    children: int = 1,
    deregistered: bool = False,
    stage_seconds: float = 0.0,
) -> ShutdownInputs:
    """Return the inputs in the middle of a shutdown, changed as given."""
    return ShutdownInputs(
        stop_requested=stop_requested,
        stop_requested_again=stop_requested_again,
        children=children,
        deregistered=deregistered,
        stage_seconds=stage_seconds,
    )


@pytest.mark.parametrize(
    ("stage", "what", "expected"),
    [
        (ShutdownStage.SERVING, inputs(stop_requested=False), ShutdownStage.SERVING),
        (
            ShutdownStage.SERVING,
            inputs(stop_requested=False, children=0),
            ShutdownStage.SERVING,
        ),
        (ShutdownStage.SERVING, inputs(), ShutdownStage.DRAINING),
        (ShutdownStage.DRAINING, inputs(stage_seconds=29.9), ShutdownStage.DRAINING),
        (ShutdownStage.DRAINING, inputs(children=0), ShutdownStage.LEAVING),
        (ShutdownStage.DRAINING, inputs(stage_seconds=30), ShutdownStage.RELEASING),
        (ShutdownStage.DRAINING, inputs(stop_requested_again=True), ShutdownStage.RELEASING),
        (ShutdownStage.RELEASING, inputs(stage_seconds=1.4), ShutdownStage.RELEASING),
        (ShutdownStage.RELEASING, inputs(stage_seconds=1.5), ShutdownStage.KILLING),
        (ShutdownStage.RELEASING, inputs(children=0), ShutdownStage.LEAVING),
        (ShutdownStage.KILLING, inputs(stage_seconds=60), ShutdownStage.KILLING),
        (ShutdownStage.KILLING, inputs(children=0), ShutdownStage.LEAVING),
        (ShutdownStage.LEAVING, inputs(children=0), ShutdownStage.LEAVING),
        (ShutdownStage.LEAVING, inputs(children=0, deregistered=True), ShutdownStage.GONE),
        (ShutdownStage.LEAVING, inputs(children=0, stage_seconds=5), ShutdownStage.GONE),
    ],
)
def test_each_step_of_a_stop_follows_from_what_is_seen(
    stage: ShutdownStage, what: ShutdownInputs, expected: ShutdownStage
) -> None:
    """SIGTERM drains, the end of grace or a second signal releases, no child left leaves."""
    assert expected == next_stage(stage, what, LIMITS)


def test_no_worker_leaves_before_its_last_child_is_dead() -> None:
    """What a child holds is handed back only when it certainly runs no more."""
    alive = inputs(stop_requested_again=True, deregistered=True, stage_seconds=3600)

    reached = {
        next_stage(stage, alive, LIMITS)
        for stage in ShutdownStage
        if stage < ShutdownStage.LEAVING
    }

    assert ShutdownStage.LEAVING not in reached
