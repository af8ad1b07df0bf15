"""What is said of a pool's fairness report: what it is of, and whether it is of now."""

from datetime import UTC, datetime, timedelta

import pytest

from fairlead_cli.output import fair_shares

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("window_seconds", "age_seconds", "stale"),
    [(60, 50, False), (60, 70, True), (240, 19, False), (20, 19, False), (5, 14, False)],
)
def test_a_report_is_of_now_until_it_is_older_than_its_window(
    window_seconds: int, age_seconds: int, *, stale: bool
) -> None:
    """With ten thousand lanes the leader looks every 20 s, though jobs run all the time."""
    at = NOW - timedelta(seconds=age_seconds)
    pool: dict[str, object] = {
        "pool": "default",
        "since": at - timedelta(seconds=window_seconds),
        "at": at,
        "now": NOW,
        "jain": None,
        "others": 0,
        "led": True,
        "current": True,
    }

    (said,) = fair_shares.sentences([pool])

    assert stale == said.endswith("; nothing has run since")
