"""`drain` joins the transaction of the given connection, which others may use as well."""

import subprocess
import sys
from pathlib import Path
from typing import cast

import psycopg
import pytest
import sqlalchemy
from psycopg import Connection, IsolationLevel
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, TupleRow, dict_row
from sqlalchemy.orm import Session

import fairlead
from fairlead import testing
from tests.conftest import Connect
from tests.support.testing_app import noting, outcomes

_COUNTS = """
    SELECT (SELECT count(*) FROM fairlead.jobs), (SELECT count(*) FROM fairlead.job_history),
           (SELECT count(*) FROM fairlead.worker_leases)
"""


@pytest.fixture
def tasks() -> fairlead.Tasks:
    """Return an application of the test's own."""
    return fairlead.Tasks()


def test_in_a_transaction_everything_ends_with_it(
    tasks: fairlead.Tasks, connect: Connect, db: Connection[TupleRow]
) -> None:
    """Jobs need not be committed, and a rollback leaves no trace."""
    noting(tasks)
    connection = connect(autocommit=False)
    fairlead.enqueue(connection, "note", 1)

    drained = testing.drain(tasks, connection)

    assert {"succeeded": 1} == drained.counts
    assert (0, 1, 1) == connection.execute(_COUNTS).fetchone()
    assert (0, 0, 0) == db.execute(_COUNTS).fetchone()
    connection.rollback()
    assert (0, 0, 0) == connection.execute(_COUNTS).fetchone()


def test_a_block_of_an_autocommit_connection_is_a_transaction_too(
    tasks: fairlead.Tasks, connect: Connect, db: Connection[TupleRow]
) -> None:
    """What counts is whether one is open."""
    noting(tasks)
    connection = connect()

    with connection.transaction(force_rollback=True):
        fairlead.enqueue(connection, "note", 1)
        assert {"succeeded": 1} == testing.drain(tasks, connection).counts
        assert (0, 0, 0) == db.execute(_COUNTS).fetchone()

    assert (0, 0, 0) == db.execute(_COUNTS).fetchone()


def test_an_autocommit_connection_commits_every_step(
    tasks: fairlead.Tasks, connect: Connect, db: Connection[TupleRow]
) -> None:
    """The same as with a URL; and the connection stays open."""
    noting(tasks)
    connection = connect()
    fairlead.enqueue(db, "note", 1)

    testing.drain(tasks, connection)

    assert (0, 1, 1) == db.execute(_COUNTS).fetchone()
    assert TransactionStatus.IDLE == connection.info.transaction_status


def test_a_connection_without_autocommit_begins_a_transaction(
    tasks: fairlead.Tasks, connect: Connect, db: Connection[TupleRow]
) -> None:
    """As psycopg does it: its owner commits."""
    noting(tasks)
    connection = connect(autocommit=False)
    fairlead.enqueue(db, "note", 1)

    testing.drain(tasks, connection)

    assert (1, 0, 0) == db.execute(_COUNTS).fetchone()
    connection.commit()
    assert (0, 1, 1) == db.execute(_COUNTS).fetchone()


def test_a_handler_shares_the_transaction(tasks: fairlead.Tasks, connect: Connect) -> None:
    """Its work, its own completion, what it enqueues and retries that are due."""
    ran = noting(tasks)
    connection = connect(autocommit=False)

    @tasks.handler("work")
    def work(job: fairlead.Job) -> None:
        if job.attempt == 1:
            raise fairlead.Retry("once more", after=0)
        with connection.transaction():
            fairlead.enqueue(connection, "note", "from the handler")
            job.complete(connection, "itself")

    fairlead.enqueue(connection, "work")

    drained = testing.drain(tasks, connection)

    assert [(1, "retried"), (2, "succeeded"), (1, "succeeded")] == outcomes(drained)
    assert "itself" == drained.endings[1].result
    assert ["from the handler"] == ran


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_handler_that_fails_in_the_transaction_loses_its_own_work_alone(
    tasks: fairlead.Tasks,
    connect: Connect,
    autocommit: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A statement that PostgreSQL refuses is undone with what its handler did before it."""
    connection = connect(autocommit=autocommit)

    @tasks.handler("insert")
    def insert(job: fairlead.Job[int]) -> None:
        for each in (job.payload, 1):
            connection.execute("INSERT INTO done VALUES (%s)", [each])
            job.extend(60)

    @tasks.handler("swallow")
    def swallow(job: fairlead.Job) -> None:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        job.extend(60)

    @tasks.handler("one")
    def one(_job: fairlead.Job) -> None:
        connection.execute("INSERT INTO done VALUES (1)")

    with connection.transaction(force_rollback=True):
        connection.execute("CREATE TABLE done (id integer PRIMARY KEY)")
        for kind, payload in (("one", None), ("insert", 2), ("swallow", None)):
            fairlead.enqueue(connection, kind, payload)

        drained = testing.drain(tasks, connection)

        assert [(1, "succeeded"), (1, "retried"), (1, "succeeded")] == outcomes(drained)
        assert drained.errors[0].startswith("UniqueViolation: duplicate key")
        assert [(1,)] == connection.execute("SELECT id FROM done").fetchall()


def test_an_interruption_leaves_the_transaction_usable(
    tasks: fairlead.Tasks, connect: Connect
) -> None:
    """Also from a statement that failed: the job is handed back, and can be drained again."""
    connection = connect(autocommit=False)

    @tasks.handler("stop")
    def stop(job: fairlead.Job) -> None:
        if job.payload == "broken":
            with pytest.raises(psycopg.errors.DivisionByZero):
                connection.execute("SELECT 1 / 0")
        raise KeyboardInterrupt

    for payload in ("broken", "whole"):
        fairlead.enqueue(connection, "stop", payload)
        with pytest.raises(KeyboardInterrupt):
            testing.drain(tasks, connection)
    held = "SELECT count(*) FROM fairlead.work_queue WHERE worker IS NOT NULL"

    assert (0,) == connection.execute(held).fetchone()


def test_a_connection_that_a_handler_closed_is_left_alone(
    tasks: fairlead.Tasks, connect: Connect
) -> None:
    """What the handler raised is raised, and not what came of the connection."""
    connection = connect(autocommit=False)

    @tasks.handler("close")
    def close(_job: fairlead.Job) -> None:
        connection.close()
        raise KeyboardInterrupt

    fairlead.enqueue(connection, "close")

    with pytest.raises(KeyboardInterrupt):
        testing.drain(tasks, connection)


def test_a_connection_may_read_its_rows_as_it_likes(
    tasks: fairlead.Tasks, database_url: str
) -> None:
    """A drain asks for tuples by itself."""
    noting(tasks)
    with psycopg.Connection[DictRow].connect(database_url, row_factory=dict_row) as connection:
        fairlead.enqueue(connection, "note", 1)

        assert 1 == testing.drain(tasks, connection).endings[0].result
        assert () == testing.enqueued(connection)


@pytest.mark.parametrize("lock_timeout", ["0", "7s"])
def test_a_transaction_keeps_its_lock_timeout(
    tasks: fairlead.Tasks, connect: Connect, lock_timeout: str
) -> None:
    """An ending waits for locks for a moment only, and a test's own statements as before."""
    noting(tasks)
    connection = connect(autocommit=False)
    connection.execute(f"SET LOCAL lock_timeout = '{lock_timeout}'".encode())
    fairlead.enqueue(connection, "note", 1)

    assert {"succeeded": 1} == testing.drain(tasks, connection).counts
    assert (lock_timeout,) == connection.execute("SHOW lock_timeout").fetchone()


def test_another_isolation_is_refused(tasks: fairlead.Tasks, connect: Connect) -> None:
    """Handing back a job needs two snapshots."""
    connection = connect(autocommit=False)
    connection.isolation_level = IsolationLevel.REPEATABLE_READ

    with pytest.raises(RuntimeError, match=r"READ COMMITTED .* REPEATABLE READ: set"):
        testing.drain(tasks, connection)


def test_what_is_no_connection_is_refused(tasks: fairlead.Tasks) -> None:
    """An asynchronous connection, a cursor: a sentence says what to give."""
    with pytest.raises(TypeError, match=r"a URL or a psycopg\.Connection, not object"):
        testing.drain(tasks, cast("str", object()))


def test_sqlalchemys_session_shares_the_transaction(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Also one whose commits end savepoints, begun before the drain or in a handler."""
    engine = sqlalchemy.create_engine(
        database_url.replace("postgresql:", "postgresql+psycopg:")
    )
    db.execute("CREATE TABLE orders (id integer)")
    insert = sqlalchemy.text("INSERT INTO orders VALUES (:id)")

    with engine.connect() as connection, connection.begin() as transaction:
        session = Session(bind=connection, join_transaction_mode="create_savepoint")

        @tasks.handler("order")
        def order(job: fairlead.Job[int]) -> None:
            session.execute(insert, {"id": job.payload})
            session.commit()
            session.execute(insert, {"id": -job.payload})

        session.execute(insert, {"id": 0})
        cursor = session.connection().connection.cursor()
        fairlead.enqueue(cursor, "order", 1)
        fairlead.enqueue(cursor, "order", 2)
        assert 2 == len(testing.enqueued(cursor, "order"))

        driver = connection.connection.driver_connection
        drained = testing.drain(tasks, cast("Connection[TupleRow]", driver))
        session.commit()

        assert {"succeeded": 2} == drained.counts
        found = session.execute(sqlalchemy.text("SELECT id FROM orders ORDER BY id"))
        assert [-2, -1, 0, 1, 2] == list(found.scalars())
        transaction.rollback()
    engine.dispose()
    assert (0,) == db.execute("SELECT count(*) FROM orders").fetchone()


_DJANGO = """
import sys
import django
from django.conf import settings

name, host, port, user = sys.argv[1:]
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": name, "HOST": host, "PORT": port, "USER": user}}, USE_TZ=True)
django.setup()
from django.db import connection, transaction
import fairlead
from fairlead import testing

tasks = fairlead.Tasks()

@tasks.handler("order")
def order(job):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders VALUES (%s)", [job.payload["id"]])
        if job.payload["id"] < 0:
            cursor.execute("SELECT 1 / 0")
        job.complete(cursor, {"done": job.payload["id"]})

with transaction.atomic():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE orders (id integer)")
        for id in (1, -2, 3):
            fairlead.enqueue(cursor, "order", {"id": id})
        assert 1 == len(testing.enqueued(cursor, "order", payload={"id": -2}))
    drained = testing.drain(tasks, connection.connection)
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM orders ORDER BY id")
        assert [(1,), (3,)] == cursor.fetchall()
    transaction.set_rollback(True)
assert {"succeeded": 2, "retried": 1} == drained.counts, drained
assert {"done": 3} == drained.endings[2].result
print("done")
"""


def test_djangos_connection_shares_the_transaction(
    tmp_path: Path, db: Connection[TupleRow]
) -> None:
    """What a TestCase does: an atomic block, rolled back; handlers use the same connection."""
    script = tmp_path / "script.py"
    script.write_text(_DJANGO)
    info = db.info

    done = subprocess.run(
        [sys.executable, str(script), info.dbname, info.host, str(info.port), info.user],
        check=False,
        capture_output=True,
        text=True,
    )

    assert "done\n" == done.stdout, done.stderr
    assert (0, 0, 0) == db.execute(_COUNTS).fetchone()
