"""Buffers per dispatched job of the scheduler's statements, by EXPLAIN (ANALYZE, BUFFERS).

Selecting is explained with parameters that the scheduler itself has sent, which the server's
log gives, since how many heads it asks of how many lanes is its decision and decides the cost.
Dispatching is explained for the next jobs in line. Everything is rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import psycopg

from bench import statement_log
from bench.server import Server
from fairlead import sql

_PACKAGE = "fairlead_scheduler"
_BATCH = 500
_SAMPLES_MAX = 20
_NAMED = re.compile(rb"%\((\w+)\)s")


def _with_literals(name: str, literals: Sequence[str]) -> bytes:
    """Put literals, which come in the order of the parameters' first use, into a statement."""
    query = sql.load(_PACKAGE, name)
    names = list(dict.fromkeys(_NAMED.findall(query)))
    values = dict(zip(names, literals, strict=True))
    return _NAMED.sub(lambda found: values[found[1]].encode(), query).replace(b"%%", b"%")


def _buffers(connection: psycopg.Connection, query: bytes, *, warm_up: bytes) -> int:
    connection.execute(warm_up)  # catalogs and pages
    connection.rollback()
    row = connection.execute(b"explain (analyze, buffers, format json) " + query).fetchone()
    connection.rollback()
    assert row is not None
    plan = cast("dict[str, int]", row[0][0]["Plan"])
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def _heads(connection: psycopg.Connection, query: bytes) -> int:
    row = connection.execute(
        b"select coalesce(sum(cardinality(ids)), 0) from (" + query + b") as heads"
    ).fetchone()
    connection.rollback()
    assert row is not None
    return int(row[0])


def select_buffers(connection: psycopg.Connection, sent: Sequence[Sequence[str]]) -> float:
    """Return buffers per job of the refills that the scheduler sent, on average."""
    buffers = heads = 0
    for literals in sent[-_SAMPLES_MAX:]:
        query = _with_literals("refill", literals)
        found = _heads(connection, query)
        if found:
            heads += found
            buffers += _buffers(connection, query, warm_up=query)
    return buffers / max(1, heads)


def _dispatching(ids: Sequence[int], epoch: int) -> bytes:
    literals: dict[bytes, str] = {
        b"epoch": str(epoch),
        b"floor": "0",
        b"pool": "'default'",
        b"band": "0::smallint",
        b"ids": f"'{sql.integers(ids)}'",
        b"vtags": f"'{sql.integers(range(len(ids)))}'",
        b"estimates_us": f"'{sql.integers([1000] * len(ids))}'",
        b"seen_us": f"'{sql.integers([0] * len(ids))}'",
        b"timeout_default": "'10 min'",
        b"timeout_max": "'1 hour'",
    }
    query = sql.load(_PACKAGE, "dispatch")
    return _NAMED.sub(lambda found: literals[found[1]].encode(), query)


def dispatch_buffers(connection: psycopg.Connection) -> float:
    """Return buffers per job of dispatching the next jobs in line.

    What warms up are others: the rolled back rows of the same jobs would be visited again.
    """
    rows = connection.execute(
        b"select id from fairlead.jobs j where run_at is null and not exists"
        b" (select from fairlead.work_queue q where q.job_id = j.id) order by seq limit %s",
        (2 * _BATCH,),
    ).fetchall()
    lead = connection.execute(
        b"select epoch from fairlead.leaders where role = 'scheduler'"
    ).fetchone()
    connection.rollback()
    assert lead is not None
    ids = [int(row[0]) for row in rows]
    measured, others = sorted(ids[:_BATCH]), sorted(ids[_BATCH:])
    warm_up = _dispatching(others, lead[0])
    return _buffers(connection, _dispatching(measured, lead[0]), warm_up=warm_up) / len(
        measured
    )


def scheduler_buffers(server: Server, database: str, first: int) -> dict[str, float]:
    """Return buffers per job of the statements that select and that dispatch.

    `first` is where the server's log stood before the scheduler's parameters were logged.
    """
    last = statement_log.position(server)
    sent = statement_log.parameters(server.log, first, last, "refill")
    with psycopg.connect(server.dsn(database)) as connection:
        found = {"dispatch": dispatch_buffers(connection)}
        if sent:
            found["select"] = select_buffers(connection, sent)
        return found
