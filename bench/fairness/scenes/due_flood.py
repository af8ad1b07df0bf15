"""Jobs of one tenant that are due at one instant, beside delayed jobs of another.

A delayed job is promoted when it is due; it waits from then on until it is claimed.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import psycopg

from bench.fairness.postgres import fleet
from bench.figures import percentile
from bench.processes import BrokenRunError
from bench.server import Server

_FLOOD_JOBS = 300_000
_CHUNK = 50_000
_INSERT_SECONDS = 120.0
"""How long the flood may take to be inserted."""
_BEFORE_SECONDS, _AFTER_SECONDS = 4.0, 10.0
"""For how long jobs of the other tenant are due before and after the flood."""
_STEP_SECONDS = 0.1
_US = 1e6
_NOW = b"select clock_timestamp()"
_DELAYED = b"""
insert into fairlead.jobs (queue, tenant, kind, payload, run_at)
select 'q', %(tenant)s, 'sleep', '{"seconds": 0.01}',
       %(from)s::timestamptz + interval '1 second' * %(step)s * n
from generate_series(0, %(jobs)s - 1) n
"""
_WAITS = b"""
select (extract(epoch from coalesce(p.claimed_at, clock_timestamp()) - p.due_at) * 1e6)::bigint
from (
    select h.due_at, h.claimed_at from fairlead.job_history h where h.tenant = 'quiet'
    union all
    select coalesce(j.due_at, j.run_at), q.claimed_at
    from fairlead.jobs j left join fairlead.work_queue q on q.job_id = j.id
    where j.tenant = 'quiet'
) p
"""


def quiet_p99_seconds(server: Server, *, slots: int, flood: bool) -> float:
    """Return the 99th percentile of the waits of ten delayed jobs a second.

    Raises:
        BrokenRunError: A process ended, or the flood was due before all of it was there.
    """
    jobs = round((_BEFORE_SECONDS + _AFTER_SECONDS) / _STEP_SECONDS)
    with (
        fleet.database(server) as (connection, dsn),
        fleet.running(connection, dsn, slots=slots) as own,
    ):
        due = _now(connection) + timedelta(seconds=_INSERT_SECONDS if flood else 6)
        first = due - timedelta(seconds=_BEFORE_SECONDS)
        for _ in range(0, _FLOOD_JOBS if flood else 0, _CHUNK):
            _insert(connection, "liar", due, jobs=_CHUNK, step=0.0)
        _insert(connection, "quiet", first, jobs=jobs, step=_STEP_SECONDS)
        left = (first - _now(connection)).total_seconds()
        if left < 0:
            raise BrokenRunError("the flood was due before all of it was there")
        seconds = left + _BEFORE_SECONDS + _AFTER_SECONDS + 1
        fleet.feed(connection, (), 0, round(seconds * _US), lambda _: None)
        own.check()
        rows = connection.execute(_WAITS).fetchall()
    return percentile([int(wait_us) for (wait_us,) in rows], 0.99) / _US


def _insert(
    connection: psycopg.Connection, tenant: str, due: datetime, *, jobs: int, step: float
) -> None:
    """Insert delayed jobs, the first due then and each so many seconds after the one before."""
    values = {"tenant": tenant, "from": due, "jobs": jobs, "step": step}
    connection.execute(_DELAYED, values)


def _now(connection: psycopg.Connection) -> datetime:
    (now,) = fleet.one(connection, _NOW)
    assert isinstance(now, datetime)
    return now
