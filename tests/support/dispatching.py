"""Dispatch by hand, for tests that want no scheduler."""

import json

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.statements import integers, load


def dispatch_all(
    connection: Connection[TupleRow], *, wake: bool = True, timeout_max: str = "1 hour"
) -> tuple[int, ...]:
    """Move every pending job into work_queue, as the leader of epoch 0 would."""
    rows = connection.execute(
        "SELECT id FROM fairlead.jobs WHERE run_at IS NULL"
        " AND id NOT IN (SELECT job_id FROM fairlead.work_queue) ORDER BY id"
    ).fetchall()
    ids = [int(row[0]) for row in rows]
    values = {
        "epoch": 0,
        "pool": "default",
        "band": 0,
        "floor": 0,
        "timeout_default": "10 minutes",
        "timeout_max": timeout_max,
        "ids": integers(ids),
        "vtags": integers(ids),
        "estimates_us": integers(1000 for _ in ids),
        "seen_us": integers(0 for _ in ids),
        "used": None,
        "kinds": None,
        "counted": None,
        "workers": None,
    }
    moved = connection.execute(load("fairlead_scheduler.loop", "dispatch"), values).fetchall()
    if wake:
        connection.execute("NOTIFY fairlead_work")
    return tuple(int(row[0]) for row in moved)


def insert(
    db: Connection[TupleRow], kind: str, payload: object = None, *, timeout_max: str = "1 hour"
) -> int:
    """Insert and dispatch one job."""
    (job_id,) = insert_many(db, kind, 1, payload, timeout_max=timeout_max)
    return job_id


def insert_many(
    db: Connection[TupleRow],
    kind: str,
    count: int,
    payload: object = None,
    *,
    timeout_max: str = "1 hour",
) -> tuple[int, ...]:
    """Insert and dispatch jobs that are alike."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload)"
        " SELECT %s, %s::jsonb FROM generate_series(1, %s) RETURNING id",
        [kind, json.dumps(payload), count],
    ).fetchall()
    dispatch_all(db, timeout_max=timeout_max)
    return tuple(int(row[0]) for row in rows)
