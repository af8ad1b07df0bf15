"""Attacks by handlers as a scene: the worst of them is compared with the targets."""

from bench.fairness.scenes import handler_attacks
from bench.fairness.scenes.handler_attacks import ATTACKS


def test_the_worst_handler_counts_by_each_target() -> None:
    """Where a worker breaks, a quiet tenant may wait until it is back."""
    without = {"share_without": 0.8, "quiet_p99_without_seconds": 0.1}
    found = handler_attacks.worst(
        {
            "empty jobs": {"share": 0.4, "quiet_p99_seconds": 0.2, **without},
            "blocks the loop": {"share": 0.8, "quiet_p99_seconds": 0.4, **without},
            "dies every 3 s": {"share": 0.8, "quiet_p99_seconds": 3.0, **without},
            "ignores its timeout": {"share": 0.8, "quiet_p99_seconds": 0.1, **without},
        }
    )

    assert {
        "share_over_without": 0.5,
        "quiet_p99_over_without": 4.0,
        "quiet_p99_beside_breaks_seconds": 3.0,
    } == found


def test_harmful_jobs_come_once_or_again_and_again() -> None:
    """Until the end of the run."""
    until_us = 10_000_000

    assert [0] == [*ATTACKS["empty jobs"].times_us(until_us)]
    assert [5e6] == [*ATTACKS["blocks the loop"].times_us(until_us)]
    assert [3e6, 6e6, 9e6] == [*ATTACKS["dies every 3 s"].times_us(until_us)]
