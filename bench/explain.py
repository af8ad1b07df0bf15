"""Buffers per dispatched job of the scheduler's statements, by EXPLAIN (ANALYZE, BUFFERS).

Each statement runs as the scheduler would send it, for a batch of a few hundred jobs, inside a
transaction that is rolled back. Buffers are hits plus reads of shared buffers, over the batch.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg

from bench.server import Server
from fairlead import sql

_PACKAGE = "fairlead_scheduler"
_BATCH = 500
_Parameters = Mapping[str, object]


def _buffers(connection: psycopg.Connection, name: str, parameters: _Parameters) -> int:
    query = b"explain (analyze, buffers, format json) " + sql.load(_PACKAGE, name)
    connection.execute(query, parameters)  # once to warm catalogs and pages
    connection.rollback()
    row = connection.execute(query, parameters).fetchone()
    connection.rollback()
    assert row is not None
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def _dispatch(connection: psycopg.Connection) -> _Parameters:
    rows = connection.execute(
        b"select id from fairlead.jobs j where run_at is null and not exists"
        b" (select from fairlead.work_queue q where q.job_id = j.id) order by seq limit %s",
        (_BATCH,),
    ).fetchall()
    epoch = connection.execute(
        b"select epoch from fairlead.leaders where role = 'scheduler'"
    ).fetchone()
    connection.rollback()
    assert epoch is not None
    ids = [row[0] for row in rows]
    return {
        "epoch": epoch[0],
        "floor": 0,
        "pool": "default",
        "band": 0,
        "ids": ids,
        "vtags": list(range(len(ids))),
        "estimates_us": [1000] * len(ids),
        "seen_us": [0] * len(ids),
        "timeout_default": "10 min",
        "timeout_max": "1 hour",
    }


def scheduler_buffers(server: Server, database: str) -> dict[str, float]:
    """Return buffers per job of the statements that select and that dispatch."""
    with psycopg.connect(server.dsn(database)) as connection:
        return {"dispatch": _buffers(connection, "dispatch", _dispatch(connection)) / _BATCH}
