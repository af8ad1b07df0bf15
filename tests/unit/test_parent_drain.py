"""A stop goes forward step by step, and each step ends for one of two reasons."""

import pytest

from fairlead_worker.drain import Limits, Seen, Stage, next_stage

LIMITS = Limits(grace_seconds=30, release_seconds=1.5, leave_seconds=5)


def seen(
    *,
    asked: bool = True,
    asked_again: bool = False,
    children: int = 1,
    left: bool = False,
    here_seconds: float = 0.0,
) -> Seen:
    """Return what a worker in the middle of a stop sees, apart from what is given."""
    return Seen(
        asked=asked,
        asked_again=asked_again,
        children=children,
        left=left,
        here_seconds=here_seconds,
    )


@pytest.mark.parametrize(
    ("stage", "what", "expected"),
    [
        (Stage.SERVING, seen(asked=False), Stage.SERVING),
        (Stage.SERVING, seen(asked=False, children=0), Stage.SERVING),
        (Stage.SERVING, seen(), Stage.DRAINING),
        (Stage.DRAINING, seen(here_seconds=29.9), Stage.DRAINING),
        (Stage.DRAINING, seen(children=0), Stage.LEAVING),
        (Stage.DRAINING, seen(here_seconds=30), Stage.RELEASING),
        (Stage.DRAINING, seen(asked_again=True), Stage.RELEASING),
        (Stage.RELEASING, seen(here_seconds=1.4), Stage.RELEASING),
        (Stage.RELEASING, seen(here_seconds=1.5), Stage.KILLING),
        (Stage.RELEASING, seen(children=0), Stage.LEAVING),
        (Stage.KILLING, seen(here_seconds=60), Stage.KILLING),
        (Stage.KILLING, seen(children=0), Stage.LEAVING),
        (Stage.LEAVING, seen(children=0), Stage.LEAVING),
        (Stage.LEAVING, seen(children=0, left=True), Stage.GONE),
        (Stage.LEAVING, seen(children=0, here_seconds=5), Stage.GONE),
    ],
)
def test_each_step_of_a_stop_follows_from_what_is_seen(
    stage: Stage, what: Seen, expected: Stage
) -> None:
    """SIGTERM drains, the end of grace or a second signal releases, no child left leaves."""
    assert expected == next_stage(stage, what, LIMITS)


def test_no_worker_leaves_before_its_last_child_is_dead() -> None:
    """What a child holds is handed back only when it certainly runs no more."""
    alive = seen(asked_again=True, left=True, here_seconds=3600)

    reached = {next_stage(stage, alive, LIMITS) for stage in Stage if stage < Stage.LEAVING}

    assert Stage.LEAVING not in reached
