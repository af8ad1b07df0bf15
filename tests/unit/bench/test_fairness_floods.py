"""Floods as a scene: the worst of them is compared with the targets."""

from bench.fairness.scenes import floods


def test_the_worst_flood_counts_and_the_backlog_has_nothing_to_be_compared_with() -> None:
    """The quiet tenant's wait is relative to a backlog, the leader's memory is not."""
    found = floods.worst(
        {
            "a backlog": {"quiet_p99_seconds": 9.0, "leader_mib": 57.0},
            "batches": {
                "quiet_p99_seconds": 0.3,
                "quiet_p99_without_seconds": 0.1,
                "leader_mib": 58.0,
            },
            "queues": {
                "quiet_p99_seconds": 0.2,
                "quiet_p99_without_seconds": 0.1,
                "leader_mib": 220.0,
            },
        }
    )

    assert {"quiet_p99_over_without": 0.3 / 0.1, "leader_mib": 220.0} == found
