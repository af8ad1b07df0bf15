"""Tables keep to 80 columns."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from fairlead.inspection.rows import Row
from fairlead_cli.commands import jobs, queues, schedules, tenants, workers
from fairlead_cli.output import fair_shares, tables

TABLES = [
    (jobs.COLUMNS, "id state queue tenant kind age ran try error"),
    (jobs.OLDEST_COLUMNS, "id waits state queue tenant kind try error"),
    (queues.POOLED_COLUMNS, "queue pool pending queued running scheduled tenants oldest"),
    (tenants.COLUMNS, "queue tenant pending queued running oldest"),
    (fair_shares.COLUMNS, "queue tenant weight share entitled lag waits runs"),
    (workers.COLUMNS, "id name pool state running held up lease ends in"),
    (schedules.COLUMNS, "name tenant cron timezone kind last fire state"),
]


@pytest.mark.parametrize(("columns", "headings"), TABLES, ids=lambda value: str(value)[:30])
def test_tables_keep_their_headings_and_numbers_in_80_columns(
    columns: tuple[tables.Column, ...], headings: str
) -> None:
    """Text gives way, numbers do not."""
    now = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
    texts = ("queue", "tenant", "kind", "name", "pool", "cron", "timezone", "error", "problem")
    times = (
        *("oldest_pending_at", "started_at", "last_fire", "lease_until", "waits_since"),
        *("created_at", "claimed_at"),
    )
    numbers = ("pending", "queued", "running", "scheduled", "tenants")
    row: Row = {
        **dict.fromkeys(texts, "a rather long name that a user chose for it"),
        **dict.fromkeys(times, now - timedelta(days=3, hours=4)),
        **dict.fromkeys(numbers, 123_456),
        "weight": 0.25,
        **dict.fromkeys(("share", "entitled_share"), 1.0),
        "lag_slot_seconds": -1234.5,
        **dict.fromkeys(("oldest_wait_seconds", "mean_run_seconds"), 1234.5),
        "blocked_by": "reserve",
        "id": 12_345_678,
        "state": "cancelled",
        "attempt": 12,
        "max_attempts": 1000,
        "slots": 100,
        "now": now,
        "finished_at": None,
        "held": 27,
        "dead_at": None,
        "paused": True,
        "enabled": True,
        "pending_is_more": True,
        "scheduled_is_more": True,
    }
    printed = StringIO()

    Console(file=printed, width=80).print(tables.table([row], columns, width=80))

    lines = printed.getvalue().splitlines()
    assert headings.split() == lines[0].split()
    assert 3 == len(lines)
    assert all(column.says(row) in lines[2] for column in columns if column.right)
