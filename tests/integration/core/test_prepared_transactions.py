"""Jobs in transactions that are prepared, for a two-phase commit."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.postgres import Server
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logins import as_login, login
from tests.support.race import claim, places, queue_one, register
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_INSERT = "INSERT INTO fairlead.jobs (kind) VALUES ('k') RETURNING id"
_SWITCHES = ("inserts_notify", "endings_notify")
"""What a leader sets that is to be notified."""


@pytest.fixture(scope="module")
def preparing() -> Iterator[Server]:
    """Yield a migrated server that prepares transactions."""
    with running_server(
        FAST | {"max_prepared_transactions": "10"}, within=fast_folder()
    ) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            migrate(connection)
        yield running


@pytest.fixture
def db(preparing: Server) -> Iterator[Connection[TupleRow]]:
    """Yield a connection as the superuser."""
    with psycopg.connect(preparing.url, autocommit=True) as connection:
        yield connection


@contextmanager
def notified(db: Connection[TupleRow]) -> Generator[None]:
    """Want to be notified of everything, as a leader does."""
    for switch in _SWITCHES:
        db.execute("SELECT setval(%s, 1)", [f"fairlead.{switch}"])
    yield
    for switch in _SWITCHES:
        db.execute("SELECT setval(%s, 1, false)", [f"fairlead.{switch}"])


def prepared(session: Connection[TupleRow], *, first: str = "") -> int:
    """Insert a job in a transaction that is prepared and then committed; return its id."""
    session.execute("BEGIN")
    session.execute(first.encode())
    row = session.execute(_INSERT).fetchone()
    session.execute("PREPARE TRANSACTION 'test'")
    session.execute("COMMIT PREPARED 'test'")
    assert row is not None
    return int(row[0])


def test_a_transaction_that_has_notified_cannot_be_prepared(db: Connection[TupleRow]) -> None:
    """That is PostgreSQL's rule."""
    with notified(db), pytest.raises(errors.FeatureNotSupported, match="NOTIFY"):
        prepared(db)


@pytest.mark.parametrize("off", ["off", "false", "no", "0"])
def test_an_insert_notifies_nobody_in_a_transaction_that_says_so(
    db: Connection[TupleRow], off: str
) -> None:
    """In this transaction alone."""
    with notified(db):
        job = prepared(db, first=f"SET LOCAL fairlead.notify = '{off}'")
        with pytest.raises(errors.FeatureNotSupported):
            prepared(db)

    assert ("pending",) == places(db, job)


@pytest.mark.parametrize("by", ["role", "database"])
def test_a_role_or_a_database_may_say_so(db: Connection[TupleRow], by: str) -> None:
    """For all sessions that begin later."""
    with login(db.info.dsn, "fairlead_enqueue") as name:
        called = name if by == "role" else db.info.dbname
        altered = sql.SQL("ALTER ROLE {} " if by == "role" else "ALTER DATABASE {} ")
        begin = altered.format(sql.Identifier(called))
        db.execute(begin + sql.SQL("SET fairlead.notify = off"))
        url = as_login(db.info.dsn, name)
        with notified(db), psycopg.connect(url, autocommit=True) as session:
            job = prepared(session)
        db.execute(begin + sql.SQL("RESET fairlead.notify"))

    assert ("pending",) == places(db, job)


@pytest.mark.parametrize(("by", "place"), [("complete", "succeeded"), ("fail", "scheduled")])
def test_a_handler_may_end_its_attempt_in_a_prepared_transaction(
    db: Connection[TupleRow], by: str, place: str
) -> None:
    """Endings notify nobody either, also where somebody waits for the job."""
    worker, job = register(db), queue_one(db)
    (lease,) = claim(db, worker)
    db.execute("SELECT fairlead._await_ending(%s)", [job])
    with notified(db):
        db.execute("BEGIN")
        db.execute("SET LOCAL fairlead.notify = off")
        values = [lease.job, lease.token]
        db.execute(f"SELECT fairlead.{by}(%s, %s)".encode(), values)
        db.execute("PREPARE TRANSACTION 'test'")
        db.execute("COMMIT PREPARED 'test'")

    assert (place,) == places(db, job)


def test_a_resting_leader_finds_the_job_by_polling(db: Connection[TupleRow]) -> None:
    """It is dispatched soon after the transaction was committed."""
    resting = "SELECT pg_sequence_last_value('fairlead.inserts_notify')"
    with scheduling(db.info.dsn, scan_seconds=300.0, audit_seconds=300.0):
        led(db)
        until(lambda: db.execute(resting).fetchone() == (1,), what="a leader that rests")
        job = prepared(db, first="SET LOCAL fairlead.notify = off")
        until(lambda: places(db, job) == ("queued",), what="a dispatch", seconds=5)


def test_the_page_names_every_function_that_notifies_whatever_is_set(
    db: Connection[TupleRow],
) -> None:
    """All but `fail`, which ends no attempt in the way that notifies: back to the queue."""
    page = Path("docs/how-to/enqueue-from-an-orm.md").read_text("utf-8")
    section = page.partition("## Two-phase commit")[2].partition("\n## ")[0]
    notifying = db.execute(
        "WITH RECURSIVE n AS ("
        " SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace"
        " AND p.prosrc LIKE '%fairlead.\\_notify(%'"
        " AND p.proname NOT IN ('_notify_scheduler', '_tell_waiting')"
        " UNION SELECT p.proname FROM pg_proc p JOIN n"
        " ON p.prosrc LIKE '%fairlead.' || replace(n.proname, '_', '\\_') || '(%'"
        " WHERE p.pronamespace = 'fairlead'::regnamespace)"
        " SELECT proname FROM n WHERE proname NOT LIKE '\\_%'"
    ).fetchall()

    assert ("cancel_jobs",) in notifying
    assert {"fail"} == {name for (name,) in notifying if f"`{name}`" not in section}
