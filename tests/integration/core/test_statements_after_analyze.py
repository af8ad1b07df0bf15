"""What the planner makes of what ANALYZE found: few rows among dead ones, and a flood."""

import json
import re

import psycopg
import pytest

from fairlead.db.connect import SESSION
from fairlead_cli.dev.postgres import Server
from tests.support.databases import cloned_database
from tests.support.functions import called, inner_plans
from tests.support.statements import Statement, faults, prepare, service_statements

_DEAD = 20_000
_FILL = f"""
    INSERT INTO fairlead.jobs (kind) SELECT 'k' FROM generate_series(1, {_DEAD}) i;
    INSERT INTO fairlead.work_queue
        (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant)
    SELECT id, id, 1, 1, now(), '1 min', 0, 'default', queue, tenant FROM fairlead.jobs;
    DELETE FROM fairlead.work_queue
    WHERE job_id <= (SELECT max(job_id) - 2 FROM fairlead.work_queue);
""".encode()

_DUE = 50_000
_FLOOD = f"""
    INSERT INTO fairlead.jobs (tenant, kind, run_at)
    SELECT 'flood', 'k', now() + interval '1 hour' FROM generate_series(1, {_DUE}) i;
    INSERT INTO fairlead.jobs (tenant, kind, run_at)
    SELECT 'quiet', 'k', now() + interval '1 hour' + i * interval '1 s'
    FROM generate_series(1, 100) i;
    UPDATE fairlead.leaders SET epoch = 1 WHERE role = 'scheduler';
""".encode()
_FALL_DUE = b"UPDATE fairlead.jobs SET run_at = run_at - interval '1 day'"
_INDEXES = "SELECT indexname, tablename FROM pg_indexes WHERE schemaname = 'fairlead'"
_TURN_JOBS = 500
_BUFFERS_PER_JOB_MAX = 30
"""Measured: 12. By `jobs_due` a turn read all of the flood, and sorted it."""


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("dispatch", "work_queue_pkey"),
        ("finish", "work_queue_pkey"),
        ("claim", "work_queue_claim_order"),
    ],
)
def test_only_a_claim_reads_the_claim_order(server: Server, name: str, index: str) -> None:
    """Read whole under a snapshot of minutes, it makes a dispatch take 80 ms instead of 4."""
    statement = _statement(name)
    with (
        cloned_database(server) as url,
        psycopg.connect(url, autocommit=True) as connection,
        psycopg.connect(url) as snapshot,
    ):
        snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        snapshot.execute("SELECT FROM fairlead.jobs")
        connection.execute(_FILL)
        connection.execute("ANALYZE")
        for setting in SESSION:
            connection.execute(setting.encode())

        function = called(statement.text())
        plans = inner_plans(connection, function) if function else ()
        plan = json.dumps(plans or prepare(connection, statement).plan())

    assert {index} == set(re.findall(r"work_queue_(?:pkey|claim_order)", plan))


@pytest.mark.parametrize("direct", [True, False])
def test_a_turn_of_promotion_reads_no_more_than_it_takes(
    server: Server, *, direct: bool
) -> None:
    """ANALYZE while a flood is scheduled changes no plan, behind PgBouncer neither."""
    statement = _statement("promote_turns")
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_FLOOD)
        connection.execute("ANALYZE")
        connection.execute(_FALL_DUE)
        connection.execute("VACUUM fairlead.jobs")
        for setting in SESSION if direct else ():
            connection.execute(setting.encode())
        indexes = {
            str(index): str(table) for index, table in connection.execute(_INDEXES).fetchall()
        }

        turn = {
            "epoch": 1,
            "from_us": 0,
            "after_queue": "",
            "after_tenant": "",
            "lanes": 5000,
            "lane_jobs": _TURN_JOBS,
            "limit": 2 * _TURN_JOBS,
        }
        plan = prepare(connection, statement).run(turn)

    assert () == faults(statement, plan, indexes)
    read = int(str(plan["Shared Hit Blocks"])) + int(str(plan["Shared Read Blocks"]))
    assert read < _BUFFERS_PER_JOB_MAX * _TURN_JOBS


def _statement(name: str) -> Statement:
    return next(each for each in service_statements() if each.name == name)
