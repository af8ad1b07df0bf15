"""Plans do not depend on statistics: each statement uses the index that its header names.

The tables are analysed while they are empty, which is what autovacuum does to a queue that has
just been drained, and the plans are generic and kept, as a service's prepared statements are.
"""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.connect import SESSION
from fairlead_cli.dev.postgres import Server
from tests.support.databases import cloned_database
from tests.support.functions import atomic_plan, called, inner_plans
from tests.support.statements import (
    Plan,
    Statement,
    children,
    command_statements,
    explained,
    faults,
    generic_plan,
    nodes,
    scans,
    service_statements,
    statements,
)

_INDEXES = "SELECT indexname, tablename FROM pg_indexes WHERE schemaname = 'fairlead'"
_BLOCKS = """
    SELECT pg_stat_get_db_blocks_fetched(oid) FROM pg_database
    WHERE datname = current_database()
"""
_FAILURES = """
    INSERT INTO fairlead.job_history (
        id, created_at, finished_at, attempt, max_attempts, crashes, losses, priority, outcome,
        queue, tenant, kind, payload)
    SELECT i, now(), now() - interval '1 hour' + i * interval '1 ms', 1, 1, 0, 0, 0, 'failed',
           CASE WHEN i % 2 = 0 THEN 'q' ELSE 'other' END, 't' || i % 100, 'k', '{}'
    FROM generate_series(1, 60000) i
"""
_LONG_LANES = """
    INSERT INTO fairlead.jobs (kind, run_at)
    SELECT 'k', CASE WHEN i % 3 = 0 THEN now() + i * interval '1 hour' END
    FROM generate_series(1, 60000) i
"""


@pytest.fixture(scope="module")
def service(server: Server) -> Iterator[Connection[TupleRow]]:
    """Yield a service's session on a database that was analysed while it was empty."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        for setting in SESSION:
            connection.execute(setting.encode())
        yield connection


@pytest.fixture(scope="module")
def person(server: Server) -> Iterator[Connection[TupleRow]]:
    """Yield an ordinary session on a database with a backlog without statistics."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        connection.execute(
            "INSERT INTO fairlead.jobs (queue, tenant, kind)"
            " SELECT 'q' || i % 5, 't' || i % 500, 'k' FROM generate_series(1, 20000) i"
        )
        yield connection


@pytest.fixture(scope="module")
def indexes(service: Connection[TupleRow]) -> dict[str, str]:
    """Return every index and its table."""
    rows = service.execute(_INDEXES).fetchall()
    return {str(index): str(table) for index, table in rows}


@pytest.mark.parametrize("statement", service_statements(), ids=str)
def test_a_services_statement_uses_the_index_that_its_header_names(
    service: Connection[TupleRow], indexes: dict[str, str], statement: Statement
) -> None:
    """The index its header names, no sort, no sequential scan."""
    assert () == faults(statement, generic_plan(service, statement), indexes)


@pytest.mark.parametrize(
    "statement",
    [each for each in statements("fairlead_worker") if called(each.text())],
    ids=str,
)
def test_a_workers_function_uses_the_index_that_the_statements_header_names(
    service: Connection[TupleRow], indexes: dict[str, str], statement: Statement
) -> None:
    """What a worker's statement calls is held to the same rules as the others."""
    function = called(statement.text())
    assert function is not None

    plans = inner_plans(service, function)

    assert plans
    whole: Plan = {"Node Type": "Append", "Plans": list(plans)}
    assert () == faults(statement, whole, indexes)


def test_attempts_whose_jobs_are_gone_are_found_by_keys(
    service: Connection[TupleRow],
) -> None:
    """`_release` is no statement of its own to the planner: it is called, and never inlined."""
    plan = atomic_plan(service, "_release")

    used = {node.get("Index Name") for node in nodes(plan)} - {None}
    assert {"work_queue_pkey", "jobs_pkey"} == used
    assert "Seq Scan" not in {node["Node Type"] for node in nodes(plan)}


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("steal", "work_queue"),
        ("forget_orphans", "work_queue"),
        ("forget_progress", "job_progress"),
    ],
)
def test_a_sweep_of_a_table_looks_at_a_stretch_of_its_pages(
    service: Connection[TupleRow], name: str, table: str
) -> None:
    """Rows that an open snapshot keeps cannot make it outlast the leader's lease."""
    (sweep,) = (each for each in statements("fairlead_scheduler") if each.name == name)

    plan = generic_plan(service, sweep)

    looked = {node["Node Type"] for node in nodes(plan) if node.get("Relation Name") == table}
    assert "Tid Range Scan" in looked
    assert looked <= {"Tid Range Scan", "Tid Scan", "ModifyTable"}


@pytest.mark.parametrize("statement", command_statements(), ids=str)
def test_a_command_reads_no_backlog_whole(
    person: Connection[TupleRow], statement: Statement
) -> None:
    """People's statements may sort, but the jobs they look at are found by an index."""
    plan = generic_plan(person, statement)

    whole = [
        node
        for node, limited in scans(plan)
        if node["Relation Name"] == "jobs" and not (limited or "Index Cond" in node)
    ]
    assert [] == whole


def test_a_function_planned_over_empty_tables_finds_jobs_by_index_later(
    server: Server,
) -> None:
    """In anybody's session: a handler's, a person's."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as session:
        session.execute("ANALYZE")
        for _ in range(8):
            session.execute("SELECT fairlead.cancel(1), fairlead.retry(1)")
        session.execute(
            "INSERT INTO fairlead.jobs (kind) SELECT 'k' FROM generate_series(1, 20000)"
        )
        before = blocks(session)
        for job in range(1, 11):
            session.execute("SELECT fairlead.cancel(%s)", [job])
        read = (blocks(session) - before) / 10

    assert read < 150


@pytest.mark.parametrize(
    ("call", "made", "most"),
    [("'q'", 1000, 30_000), ("'q', jobs_max => 10", 10, 1_500), ("'none'", 0, 300)],
)
def test_a_redrive_reads_few_buffers_a_job_whatever_else_failed(
    server: Server, call: str, made: int, most: int
) -> None:
    """Neither other queues' failures nor what was repeated before makes it read more."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as session:
        session.execute("ANALYZE")
        session.execute("SELECT fairlead.redrive('q')")
        session.execute(_FAILURES)
        session.execute("SELECT fairlead.redrive('q', jobs_max => 2000)")
        before = blocks(session)

        answer = session.execute(f"SELECT fairlead.redrive({call})".encode()).fetchone()

        assert (made,) == answer
        assert blocks(session) - before < most


@pytest.mark.parametrize(("view", "most"), [("tenant_stats", 1_010), ("queue_stats", 10_010)])
@pytest.mark.parametrize("analysed", ["never", "empty", "full"])
def test_a_view_reads_of_a_backlog_what_it_counts(
    server: Server, view: str, most: int, analysed: str
) -> None:
    """No view counts a whole backlog, whatever the statistics say."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as session:
        session.execute("ANALYZE" if analysed == "empty" else "SELECT")
        session.execute(_LONG_LANES)
        session.execute("ANALYZE" if analysed == "full" else "SELECT")

        plan = explained(session, f"SELECT * FROM fairlead.{view}")

    assert most >= max(float(str(node["Actual Rows"])) for node in nodes(plan))


def blocks(connection: Connection[TupleRow]) -> int:
    """Return how many buffers the database has been asked for."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    row = connection.execute(_BLOCKS).fetchone()
    assert row is not None
    return int(row[0])


def test_the_plan_rule_sees_every_fault(
    service: Connection[TupleRow], indexes: dict[str, str]
) -> None:
    """A scan, a sort, another index, one without a condition: each is reported."""
    statement = next(each for each in service_statements() if each.name == "probe")
    plan: Plan = generic_plan(service, statement)
    assert () == faults(statement, plan, indexes)

    scan = next(node for node, _ in scans(plan) if node["Relation Name"] == "jobs")
    reading: Plan = {
        "Node Type": "Index Scan",
        "Relation Name": "jobs",
        "Index Name": "jobs_pkey",
    }
    faulty: tuple[Plan, ...] = (
        {"Node Type": "Seq Scan", "Relation Name": "jobs"},
        {**reading, "Index Name": "jobs_lane", "Index Cond": "(id = 1)"},
        reading,
        {"Node Type": "Sort", "Plans": [scan]},
    )
    for broken in faulty:
        assert faults(statement, replaced(plan, scan, broken), indexes)


def replaced(plan: Plan, old: Plan, new: Plan) -> Plan:
    """Return the plan with one node put in another's place."""
    if plan is old:
        return new
    return {
        **{key: value for key, value in plan.items() if key != "Node Type" or value != "Limit"},
        "Node Type": "Result" if plan["Node Type"] == "Limit" else plan["Node Type"],
        "Plans": [replaced(child, old, new) for child in children(plan)],
    }
