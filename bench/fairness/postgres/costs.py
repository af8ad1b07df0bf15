"""CPU time, buffers and WAL per dispatched job while a trace runs.

The scheduler's CPU time is the kernel's count for its process. Its buffers and WAL are the
server's counts for its sessions, which PostgreSQL has from 18 on; a session reports them once a
second, so up to a second may be missing. The whole WAL includes inserting, claiming and
finishing jobs.
"""

from __future__ import annotations

from typing import NamedTuple

import psycopg

from bench.fairness.results.figures import Figures
from bench.processes import Child, task_cpu_seconds

_COUNTED = b"""
select (select count(*) from fairlead.job_history) + (select count(*) from fairlead.work_queue),
       (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint
"""
_OF_SESSIONS_FROM = 180000
_OF_SESSIONS = b"""
select sum((select sum(coalesce(io.hits, 0) + coalesce(io.reads, 0))
            from pg_stat_get_backend_io(s.pid) io))::bigint,
       sum((select w.wal_bytes from pg_stat_get_backend_wal(s.pid) w))::bigint
from pg_stat_activity s
where s.datname = current_database() and s.application_name like '%scheduler%'
"""


class _Reading(NamedTuple):
    dispatched: int
    cpu_us: float
    buffers: int | None
    wal_bytes: int | None
    whole_wal_bytes: int


class Meter:
    """Counts from its construction until `costs` is called."""

    def __init__(self, connection: psycopg.Connection, scheduler: Child) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._before = self._read()

    def costs(self) -> Figures:
        """Return the cost per job dispatched since; empty if none was."""
        before, now = self._before, self._read()
        jobs = now.dispatched - before.dispatched
        if jobs <= 0:
            return {}
        found = {
            "scheduler_cpu_us": (now.cpu_us - before.cpu_us) / jobs,
            "whole_wal_bytes": (now.whole_wal_bytes - before.whole_wal_bytes) / jobs,
        }
        if before.buffers is not None and now.buffers is not None:
            found["scheduler_buffers"] = (now.buffers - before.buffers) / jobs
        if before.wal_bytes is not None and now.wal_bytes is not None:
            found["scheduler_wal_bytes"] = (now.wal_bytes - before.wal_bytes) / jobs
        return found

    def _read(self) -> _Reading:
        buffers = wal_bytes = None
        if self._connection.info.server_version >= _OF_SESSIONS_FROM:
            buffers, wal_bytes = _one(self._connection, _OF_SESSIONS)
        dispatched, whole = _one(self._connection, _COUNTED)
        return _Reading(
            dispatched=dispatched or 0,
            cpu_us=task_cpu_seconds(self._scheduler.pid) * 1e6,
            buffers=buffers,
            wal_bytes=wal_bytes,
            whole_wal_bytes=whole or 0,
        )


def _one(connection: psycopg.Connection, query: bytes) -> tuple[int | None, int | None]:
    row = connection.execute(query).fetchone()
    assert row is not None
    first, second = row
    return first, second
