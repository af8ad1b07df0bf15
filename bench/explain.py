"""Buffers per dispatched job of the scheduler's statements, by EXPLAIN (ANALYZE, BUFFERS).

Both statements are explained with parameters that the scheduler sent, read from the server's
log: how many heads it requests of how many lanes, and how far apart the selected jobs are,
decide the cost. Dispatches are explained in a copy of the database taken before them.
Everything is rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import psycopg

from bench import statement_log
from bench.server import Server
from fairlead.db import statements

_PACKAGE = "fairlead_scheduler.loop"
_SAMPLES_MAX = 20
_NAMED = re.compile(rb"%\((\w+)\)s")


def _named(name: str, literals: Sequence[str]) -> dict[bytes, str]:
    """Return literals by name; they come in the order of the parameters' first use."""
    names = dict.fromkeys(_NAMED.findall(statements.load(_PACKAGE, name)))
    return dict(zip(names, literals, strict=True))


def _with_literals(name: str, literals: Sequence[str]) -> bytes:
    """Put literals into a statement."""
    query, values = statements.load(_PACKAGE, name), _named(name, literals)
    return _NAMED.sub(lambda found: values[found[1]].encode(), query).replace(b"%%", b"%")


def _buffers(connection: psycopg.Connection, query: bytes) -> int:
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
    """Return the mean buffers per job of the refills that the scheduler sent."""
    buffers = heads = 0
    for literals in sent[-_SAMPLES_MAX:]:
        query = _with_literals("refill", literals)
        found = _heads(connection, query)
        if found:
            heads += found
            buffers += _buffers(connection, query)
    return buffers / max(1, heads)


def dispatch_buffers(connection: psycopg.Connection, sent: Sequence[Sequence[str]]) -> float:
    """Return the mean buffers per job of the dispatches that the scheduler sent.

    The database is a copy from before, under the epoch that sent them.
    """
    buffers = jobs = 0
    for literals in sent[-_SAMPLES_MAX:]:
        values = _named("dispatch", literals)
        connection.execute(
            b"update fairlead.leaders set epoch = %s where role = 'scheduler'",
            (values[b"epoch"].strip("'"),),
        )
        connection.commit()
        buffers += _buffers(connection, _with_literals("dispatch", literals))
        jobs += values[b"ids"].count(",") + 1
    return buffers / max(1, jobs)


def scheduler_buffers(
    server: Server, database: str, *, before: str, first: int
) -> dict[str, float]:
    """Return buffers per job of the statements that select and that dispatch.

    `first` is the position of the server's log before the scheduler's parameters were logged,
    and `before` a copy of the database from then.
    """
    last = statement_log.position(server)
    refills = statement_log.parameters(server.log, first, last, "refill")
    dispatches = statement_log.parameters(server.log, first, last, "dispatch")
    with psycopg.connect(server.dsn(before)) as connection:
        found = {"dispatch": dispatch_buffers(connection, dispatches)}
    if refills:
        with psycopg.connect(server.dsn(database)) as connection:
            found["select"] = select_buffers(connection, refills)
    return found
