"""Attacks as a scene: the worst of them is compared with the targets."""

from bench.fairness.scenes import attacks


def test_the_worst_attack_counts_by_each_target() -> None:
    """Waits beside long jobs have a target of their own, for no work without them compares."""
    found = attacks.worst(
        [
            {
                "share": 0.9,
                "share_without": 0.9,
                "quiet_p99_seconds": 0.3,
                "quiet_p99_without_seconds": 0.1,
            },
            {
                "share": 0.4,
                "share_without": 0.8,
                "quiet_p99_seconds": 0.2,
                "quiet_p99_without_seconds": 0.2,
            },
            {"quiet_p99_seconds": 0.4, "quiet_p99_without_seconds": 0.1},
            {"quiet_p99_seconds": 14.0},
            {"quiet_p99_seconds": 0.1},
        ]
    )

    assert {
        "share": 0.4,
        "share_over_without": 0.5,
        "quiet_p99_over_without": 4.0,
        "quiet_p99_beside_long_jobs_seconds": 14.0,
    } == found
