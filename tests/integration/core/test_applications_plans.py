"""What applications call finds its rows by an index, whatever their sessions set."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db import session_settings
from fairlead_cli.dev.postgres import Server
from tests.support.databases import cloned_database
from tests.support.worst_settings import WORST

_JOBS, _QUEUED, _RUNNING, _OTHERS = 100_000, 20_000, 10_000, 20_000
_FILL = (
    f"""
    INSERT INTO fairlead.jobs (queue, tenant, kind, dedup_key)
    SELECT 'q' || i % 5, 't' || i % 500, 'k', 'd' || i FROM generate_series(1, {_JOBS}) i
    """,
    f"""
    INSERT INTO fairlead.work_queue
        (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant)
    SELECT id, id, 1, 1, now(), '1 min', 0, 'default', queue, tenant FROM fairlead.jobs
    WHERE id <= {_QUEUED}
    """,
    f"""
    UPDATE fairlead.work_queue
    SET worker = 1, token = job_id, claimed_at = now(), deadline = now() + interval '1 hour',
        timeout_max = '1 day'
    WHERE job_id <= {_RUNNING}
    """,
    f"""
    INSERT INTO fairlead.job_history (
        id, created_at, finished_at, attempt, max_attempts, crashes, losses, priority, outcome,
        queue, tenant, kind, payload)
    SELECT -i, now(), now() - interval '1 hour' + i * interval '1 ms', 1, 1, 0, 0, 0,
           CASE WHEN i % 2 = 0 THEN 'failed' ELSE 'succeeded' END, 'q' || i % 5, 't' || i % 100,
           'k', '{{}}'
    FROM generate_series(1, {2 * _OTHERS}) i
    """,
    f"""
    INSERT INTO fairlead.attempt_errors (job_id, attempt, ended_as, tenant)
    SELECT -i, 1, 'failed', 't' || i % 100 FROM generate_series(1, {_OTHERS}) i
    """,
    f"""
    INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)
    SELECT 'q' || i % 5, 't' || i, 10, 5 FROM generate_series(7, {_OTHERS}) i
    """,
    f"""
    INSERT INTO fairlead.paused (queue, tenant)
    SELECT 'p' || i, 't' FROM generate_series(1, {_OTHERS}) i
    """,
    f"""
    INSERT INTO fairlead.schedules (tenant, name, cron, queue, kind)
    SELECT 't' || i % 500, 's' || i, '* * * * *', 'q', 'k' FROM generate_series(1, {_OTHERS}) i
    """,
)
_CHEAP = {
    "jit_above_cost": "0",
    "jit_inline_above_cost": "0",
    "jit_optimize_above_cost": "0",
    "work_mem": "64kB",
}
_SETTINGS = {
    "defaults": {},
    "indexes-off": {
        "enable_indexscan": "off",
        "plan_cache_mode": "force_generic_plan",
        "jit": "on",
        "from_collapse_limit": "1",
        **_CHEAP,
    },
    "worst": {**{name: WORST[name] for name in session_settings.PLANS}, **_CHEAP},
}
_READ = """
    SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables
    WHERE schemaname = 'fairlead' AND relname <> 'install_options'
"""
_LOOKED = 10_000
"""How many rows a step looks at of functions that find jobs by something else than ids."""
_REPLACES = "fairlead.enqueue('k', queue => 'q1', tenant => 't1', replace => true"
_CALLS = {
    "INSERT INTO fairlead.jobs (queue, tenant, kind, headers) VALUES ('q', 't', 'k', '{}')": 9,
    "SELECT fairlead._has_room('q1', 't1', 'none', NULL)": 9,
    "SELECT fairlead._has_room('q2', 't7', 'd7', NULL)": 9,
    f"SELECT fairlead.cancel({_JOBS})": 30,
    f"SELECT fairlead.cancel({_RUNNING + 1})": 30,
    "SELECT fairlead.cancel(1)": 30,
    "SELECT fairlead.cancel_jobs('q1', jobs_max => 10)": _LOOKED + 300,
    "SELECT count(*) FROM fairlead.list_jobs('q1')": 600,
    "SELECT count(*) FROM fairlead.list_jobs('none', in_state => 'pending')": 4 * _LOOKED,
    "SELECT count(*) FROM fairlead.list_jobs(of_kind => 'none')": 4 * _LOOKED,
    "SELECT count(*) FROM fairlead.list_jobs(in_state => 'running')": 4 * _LOOKED,
    f"SELECT {_REPLACES}, dedup_key => 'd0')": 60,
    f"SELECT {_REPLACES}, dedup_key => 'd{_RUNNING + 1}')": 60,
    f"SELECT {_REPLACES}, dedup_key => 'd{_QUEUED + 1}')": 60,
    f"SELECT {_REPLACES}, dedup_key => 'd1')": 60,
    "SELECT fairlead.enqueue('k', dedup_key => 'd1', unique_for => '1 h')": 30,
    "SELECT fairlead._last_fire('t1', 's1')": 30,
    "SELECT fairlead._erase_history('t1', 0, 10)": 2 * _LOOKED + 300,
    f"SELECT fairlead.explain({_JOBS})": 300,
    f"SELECT fairlead.explain({_QUEUED})": 2 * _LOOKED + 300,
    "SELECT fairlead.explain(-100)": 30,
    "SELECT fairlead.retry(-100)": 30,
    f"SELECT fairlead.retry({_JOBS})": 30,
    "SELECT fairlead.redrive('q0', jobs_max => 10)": _LOOKED + 300,
    "SELECT fairlead.pause('q1', 't1')": 30,
    "SELECT fairlead.resume('p1', 't')": 30,
    "SELECT fairlead.redact(-100)": 30,
    "SELECT fairlead.remove_schedules('t1', 's1')": 100,
    "SELECT fairlead.remove_schedules('t1')": 100,
    "SELECT fairlead.complete(2, 2)": 30,
    "SELECT fairlead.fail(3, 3)": 30,
    "SELECT fairlead._release(ARRAY[0, 5], ARRAY[5, 5])": 30,
    "SELECT fairlead.extend(4, 4, interval '1 min')": 30,
}
"""Calls, and how many rows they may read."""


@pytest.fixture(scope="module")
def large_url(server: Server) -> Iterator[str]:
    """Yield a database with much in each table, which was analysed while it was empty."""
    with cloned_database(server) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
            for statement in _FILL:
                connection.execute(statement.encode())
        yield url


@pytest.fixture
def session(large_url: str) -> Iterator[Connection[TupleRow]]:
    """Yield an application's session."""
    with psycopg.connect(large_url) as connection:
        yield connection


@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("settings", _SETTINGS)
def test_a_call_reads_few_rows_whatever_its_session_sets(
    session: Connection[TupleRow], settings: str, call: str
) -> None:
    """The planner's settings that a function depends on stand with it."""
    for name, value in _SETTINGS[settings].items():
        session.execute(f"SET {name} = '{value}'".encode())
    session.commit()

    session.execute(call.encode())

    ((read,),) = session.execute(_READ).fetchall()
    session.rollback()
    assert 0 <= read <= _CALLS[call]
