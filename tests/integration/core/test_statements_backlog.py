"""What counting backlogs reads: a bounded number of buffers, however long the backlog is."""

from collections.abc import Iterator, Mapping

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.connect import SESSION
from fairlead.db.statements import integers
from fairlead_cli.dev.postgres import Server
from tests.support.databases import cloned_database
from tests.support.statements import (
    Plan,
    Prepared,
    Statement,
    faults,
    prepare,
    service_statements,
)

MOST = 1000
TENANTS = 100
# Each job that is counted may be on a page of its own. Of a queue whole lanes are counted, and
# so is what is dead at the beginnings of all but the last.
CASES: Mapping[str, tuple[Mapping[str, object], int]] = {
    "count_lanes": (
        {"queues": "{q0,q1}", "tenants": "{loud,loud}", "most": integers([MOST, MOST])},
        MOST,
    ),
    "count_queues": ({"queues": "{q0,q1}", "most": integers([MOST, MOST])}, 4 * MOST),
    "count_scheduled": ({}, 60_000 // 20),
    "backlog_queues": ({}, 40),
    "backlog_lanes": ({"queues": "{q0,q1}"}, 6 * TENANTS),
}
_FILL = f"""
    INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)
    SELECT 'q' || i % 2, CASE WHEN i % 4 < 2 THEN 'loud' ELSE 't' || i % {TENANTS} END, 'k',
           CASE WHEN i % 10 < 2 THEN now() + interval '1 day' END
    FROM generate_series(1, 60000) i
"""
_INDEXES = "SELECT indexname, tablename FROM pg_indexes WHERE schemaname = 'fairlead'"


@pytest.fixture(scope="module")
def scene(server: Server) -> Iterator[tuple[Connection[TupleRow], Mapping[str, Prepared]]]:
    """Yield plans that were made over empty tables, and a backlog behind dead rows."""
    with (
        cloned_database(server) as url,
        psycopg.connect(url, autocommit=True) as connection,
        psycopg.connect(url, autocommit=True) as filling,
        psycopg.connect(url) as snapshot,
    ):
        connection.execute("ANALYZE")
        for setting in SESSION:
            connection.execute(setting.encode())
        prepared = {name: prepare(connection, statement(name)) for name in CASES}
        for each in prepared.values():
            each.plan()
        snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        snapshot.execute("SELECT FROM fairlead.jobs")
        filling.execute(_FILL.encode())
        filling.execute("DELETE FROM fairlead.jobs WHERE id <= 20000")
        yield connection, prepared


def statement(name: str) -> Statement:
    """Return a statement of the scheduler's."""
    (found,) = (each for each in service_statements() if each.name == name)
    return found


def buffers(plan: Plan) -> int:
    """Return how many buffers a plan that ran has asked for; catalogs are not among them."""
    return int(str(plan["Shared Hit Blocks"])) + int(str(plan["Shared Read Blocks"]))


@pytest.mark.parametrize("name", CASES)
def test_counting_reads_few_buffers_whatever_the_backlog(
    scene: tuple[Connection[TupleRow], Mapping[str, Prepared]], name: str
) -> None:
    """Up to the number that is asked for, from the newest on, by the index that it names."""
    connection, prepared = scene
    values, most = CASES[name]
    rows = connection.execute(_INDEXES).fetchall()

    plan = prepared[name].run(values)

    assert () == faults(statement(name), plan, {str(a): str(b) for a, b in rows})
    assert buffers(plan) < most
