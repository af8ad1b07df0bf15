"""Batches for tests: made as an application does it in SQL, settled as a leader does."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.db.statements import load
from tests.support.race import Database

OVER = "over"
"""The kind of the completions."""
NOT_JOINED = "FL007"
"""The SQLSTATE with which a job is refused whose batch is over or not the login's."""


class Settled(NamedTuple):
    """What a step of the leader answers."""

    completed: int
    refused: int
    more: bool
    reached_id: int | None


NOTHING = Settled(0, 0, more=False, reached_id=None)
"""What a leader's step answers that has completed no batch, and looked at all of them."""
ONE = NOTHING._replace(completed=1)
LIMITED = """
    INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)
    VALUES ('default', 'full', 1000, 900);
    SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/full'))
"""
"""Has the lane of the tenant full accept no jobs, as the leader would."""


def make(db: Database, *, is_open: bool = False, tenant: str = "", payload: str = "{}") -> int:
    """Insert a batch; return its id."""
    row = db.execute(
        "INSERT INTO fairlead.batches (open, tenant, kind, payload)"
        f" VALUES (%s, %s, '{OVER}', %s) RETURNING id",
        [is_open, tenant, payload],
    ).fetchone()
    assert row is not None
    return int(row[0])


def add(db: Database, batch: int, *, count: int = 1) -> tuple[int, ...]:
    """Insert jobs of a batch; return their ids."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, batch) SELECT 'noop', %s FROM generate_series(1, %s)"
        " RETURNING id",
        [batch, count],
    )
    return tuple(int(row[0]) for row in rows.fetchall())


def finish(db: Database, jobs: Sequence[int], outcome: str = "succeeded") -> None:
    """End jobs that have not started."""
    db.execute(
        "SELECT fairlead._end_jobs(%s::bigint[], array_fill(%s::text, ARRAY[%s]))",
        [list(jobs), outcome, len(jobs)],
    )


def settle(
    db: Database,
    epoch: int,
    *,
    after: int = 0,
    batches: int = 500,
    limit: int = 2000,
    days: int = 90,
) -> Settled:
    """Do one step of a leader."""
    values = {
        "epoch": epoch,
        "after_id": after,
        "batches": batches,
        "limit": limit,
        "days": days,
    }
    row = db.execute(load("fairlead_scheduler.background", "settle_batches"), values).fetchone()
    assert row is not None
    return Settled(*row)


def counted(db: Database, batch: int) -> dict[str, int]:
    """Return what is counted of a batch, without what is 0."""
    names = ("succeeded", "failed", "cancelled", "expired", "unknown")
    row = db.execute(
        f"SELECT {', '.join(names)} FROM fairlead.batches WHERE id = %s".encode(), [batch]
    ).fetchone()
    assert row is not None
    return {name: int(count) for name, count in zip(names, row, strict=True) if count}


def completions(db: Database) -> list[dict[str, int]]:
    """Return what the completions that were inserted say of their batches, without zeros."""
    rows = db.execute(
        "SELECT payload -> 'batch' FROM fairlead.jobs WHERE kind = %(kind)s UNION ALL"
        " SELECT payload -> 'batch' FROM fairlead.job_history WHERE kind = %(kind)s",
        {"kind": OVER},
    ).fetchall()
    return [{name: count for name, count in said.items() if count} for (said,) in rows]
