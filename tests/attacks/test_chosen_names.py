"""What a login does by the names that it gives to its jobs, and by how many there are."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db import statements
from fairlead_scheduler.leadership.sessions import connect_reader
from fairlead_scheduler.settings import SchedulerSettings
from tests.support import colliding
from tests.support.logins import LogIn

Session = Connection[TupleRow]

_NAMES = 10_000
_LONG = "5s"
"""Much longer than it takes with as many names of as many hashes: less than half a second."""
JOBS = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)
    SELECT n, n, 'k', now() + interval '1 hour' FROM unnest(%s::text[]) n
"""
LONG_NAMES = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT repeat('q', 128), 'flood', repeat('k', 128) FROM generate_series(1, 1000)
"""


@pytest.fixture
def mine(log_in: LogIn) -> Session:
    """Return a connection of the application that attacks."""
    return log_in("fairlead_enqueue")


@pytest.fixture
def alike(db: Session, mine: Session) -> tuple[str, ...]:
    """Return names of one hash; of each there are a queue and a tenant, with a job."""
    names = colliding.names(_NAMES)
    mine.execute(JOBS, [list(names)])
    db.execute(f"SET statement_timeout = '{_LONG}'".encode())
    return names


@pytest.fixture
def reader(database_url: str) -> Iterator[Session]:
    """Yield the leader's session for long reads."""
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_reader(settings, name="scans")) as session:
        session.execute(f"SET statement_timeout = '{_LONG}'".encode())
        yield session


def test_names_of_one_hash_are_that_many_names(db: Session) -> None:
    """PostgreSQL has one hash of all, so that the tests below try what they say."""
    names = colliding.names(_NAMES)

    assert _NAMES == len(set(names))
    assert (1, _NAMES) == db.execute(
        "SELECT count(DISTINCT hashtext(n)), count(*) FROM unnest(%s::text[]) n",
        [list(names)],
    ).fetchone()


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("fairlead_scheduler.background", "gauges"),
        ("fairlead_scheduler.admission", "count_scheduled"),
    ],
)
def test_names_of_one_hash_keep_no_count_of_the_leaders_from_its_end(
    reader: Session, alike: tuple[str, ...], package: str, name: str
) -> None:
    """It counts by queue, or by queue and tenant, and no estimate has it count by hashes."""
    text = statements.load(package, name)
    reader.execute("SET enable_sort = off")

    plan = [str(line) for (line,) in reader.execute(b"EXPLAIN " + text).fetchall()]
    assert [] == [line for line in plan if "HashAggregate" in line]
    assert len(alike) == len(reader.execute(text).fetchall())


@pytest.mark.usefixtures("alike")
@pytest.mark.parametrize("view", ["tenant_stats", "queue_stats"])
def test_names_of_one_hash_keep_nobody_from_reading_views(db: Session, view: str) -> None:
    """They have a row of each queue, or of each tenant in each."""
    db.execute("UPDATE fairlead.jobs SET run_at = NULL")

    assert (_NAMES,) == db.execute(f"SELECT count(*) FROM fairlead.{view}".encode()).fetchone()


@pytest.mark.usefixtures("alike")
def test_names_of_one_hash_keep_no_other_login_from_its_jobs(
    log_in: LogIn, db: Session
) -> None:
    """Who lists or cancels jobs looks at all of them for its own."""
    theirs = log_in("fairlead_enqueue")
    theirs.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
    theirs.execute(f"SET statement_timeout = '{_LONG}'".encode())

    assert [("k",)] == theirs.execute("SELECT kind FROM fairlead.list_jobs()").fetchall()
    assert [(1, 0)] == theirs.execute(
        "SELECT * FROM fairlead.cancel_jobs(kind => 'k')"
    ).fetchall()
    assert (_NAMES,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()


def test_what_many_cancelled_jobs_tell_the_leader_is_cut_into_small_receipts(
    db: Session, mine: Session
) -> None:
    """It takes a thousand of them at a time, whatever the names in them."""
    mine.execute(LONG_NAMES)

    mine.execute("SELECT fairlead.cancel_jobs(tenant => 'flood')")

    assert [(100, 1000)] == db.execute(
        "SELECT max(cardinality(kinds)), sum(cardinality(kinds)) FROM fairlead.receipts"
        " WHERE outcomes IS NOT NULL"
    ).fetchall()
