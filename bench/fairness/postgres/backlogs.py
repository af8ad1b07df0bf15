"""Backlogs made by the server itself: millions of jobs in seconds, without a trace.

A job's run time follows from its number and the seed, so it is the same each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from bench.fairness.traffic.workload import Filled, Tenants, Uniform, Workload
from bench.server import Server

_CHUNK = 100_000
_SESSIONS = 2
_INSERT = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select %(queue)s,
       case when %(count)s = 1 then %(name)s else %(name)s || 1 + n %% %(count)s end, 'sleep',
       jsonb_build_object('seconds', round((%(lowest)s + %(span)s
           * (hashint8extended(n, %(seed)s) & 1048575) / 1048575.0)::numeric, 4))
from generate_series(%(first)s::bigint, %(last)s::bigint) n
"""


def fill(server: Server, database: str, workload: Workload, seed: int) -> None:
    """Insert the workload's filled jobs and vacuum, as on a server at rest.

    Raises:
        TypeError: Their run times are not uniform.
    """
    chunks = [
        (tenants, first, min(first + _CHUNK, jobs))
        for tenants in workload.tenants
        if isinstance(tenants.arrivals, Filled)
        for jobs in (tenants.count * tenants.arrivals.jobs,)
        for first in range(0, jobs, _CHUNK)
    ]

    def insert_one(chunk: tuple[Tenants, int, int]) -> None:
        tenants, first, end = chunk
        with server.connect(database) as connection:
            insert(connection, tenants, range(first, end), seed)

    with ThreadPoolExecutor(_SESSIONS) as pool:
        _all(pool.map(insert_one, chunks))
    server.execute("vacuum analyze fairlead.jobs", database)
    server.checkpoint()


def insert(connection: psycopg.Connection, tenants: Tenants, numbers: range, seed: int) -> None:
    """Insert jobs by number; tenants take turns."""
    cost = _uniform(tenants)
    connection.execute(
        _INSERT,
        {
            "queue": tenants.queue,
            "name": tenants.name,
            "count": tenants.count,
            "lowest": cost.lowest_seconds,
            "span": cost.highest_seconds - cost.lowest_seconds,
            "seed": seed,
            "first": numbers.start,
            "last": numbers.stop - 1,
        },
    )


def _uniform(tenants: Tenants) -> Uniform:
    if isinstance(tenants.cost, Uniform):
        return tenants.cost
    raise TypeError(f"{tenants.name}: jobs that the server makes have uniform run times")


def _all(done: Iterable[None]) -> None:
    """Wait for each, and raise the first exception."""
    for _ in done:
        pass
