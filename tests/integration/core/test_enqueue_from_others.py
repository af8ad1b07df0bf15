"""`enqueue` joins the transaction of SQLAlchemy's, Django's and any driver's connections."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
import sqlalchemy
from psycopg import Connection
from psycopg.rows import TupleRow
from sqlalchemy.orm import Session, scoped_session, sessionmaker

import fairlead
from fairlead.connections import OtherConnection

_JOBS = "SELECT id, kind, payload FROM fairlead.jobs ORDER BY id"
_FULL = """
INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)
VALUES ('default', '', 1, 0)
"""


@pytest.fixture
def engine(database_url: str) -> Iterator[sqlalchemy.Engine]:
    """Yield an engine over psycopg."""
    url = database_url.replace("postgresql:", "postgresql+psycopg:")
    made = sqlalchemy.create_engine(url)
    yield made
    made.dispose()


def sessions(engine: sqlalchemy.Engine) -> tuple[Session | scoped_session[Session], ...]:
    """Return a session, and one that is bound to the thread."""
    return Session(engine), scoped_session(sessionmaker(engine))


def test_a_session_and_its_connection_commit_jobs_with_their_work(
    engine: sqlalchemy.Engine, db: Connection[TupleRow]
) -> None:
    """And roll them back with it."""
    for session in sessions(engine):
        one = fairlead.enqueue(session, "session", {"of": "käse: 100%"})
        two = fairlead.enqueue(session.connection(), "connection", dedup_key=str(one))
        assert fairlead.enqueue(session, "connection", dedup_key=str(one)) is None
        assert [] == db.execute(_JOBS).fetchall()
        session.commit()
        many = fairlead.enqueue_many(session, [fairlead.NewJob(kind="lost")] * 3)
        session.rollback()

        assert 3 == len(many)
        expected: list[tuple[object, ...]] = [
            (one, "session", {"of": "käse: 100%"}),
            (two, "connection", {}),
        ]
        assert expected == db.execute(_JOBS).fetchall()
        db.execute("DELETE FROM fairlead.jobs")
        session.close()


def test_a_session_says_that_a_backlog_is_full(
    engine: sqlalchemy.Engine, db: Connection[TupleRow]
) -> None:
    """By Fairlead's exception, whatever SQLAlchemy makes of the driver's."""
    db.execute(_FULL)
    db.execute("SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/'))")

    with (
        Session(engine) as session,
        pytest.raises(fairlead.OverBacklog, match="of queue 'default' is at its"),
    ):
        fairlead.enqueue(session, "k")


class DriversCursor:
    """A cursor of a DB-API driver."""

    def __init__(self, connection: Connection[TupleRow]) -> None:
        self._cursor = connection.cursor()
        self.closed = False

    def execute(self, operation: str, parameters: Sequence[object], /) -> None:
        """Run a statement."""
        self._cursor.execute(operation.encode(), parameters)

    def fetchall(self) -> list[TupleRow]:
        """Return its rows."""
        return self._cursor.fetchall()

    def close(self) -> None:
        """Release what it holds."""
        self.closed = True


class DriversConnection:
    """A connection of a DB-API driver: no `execute`, and cursors that are closed."""

    def __init__(self, connection: Connection[TupleRow]) -> None:
        self._connection = connection
        self.cursors: list[DriversCursor] = []

    def cursor(self) -> DriversCursor:
        """Make a cursor."""
        self.cursors.append(DriversCursor(self._connection))
        return self.cursors[-1]


def test_a_drivers_connection_will_do(db: Connection[TupleRow]) -> None:
    """Its cursor is closed."""
    connection = DriversConnection(db)

    job = fairlead.enqueue(connection, "driver")

    assert [(job, "driver", {})] == db.execute(_JOBS).fetchall()
    assert [True] == [each.closed for each in connection.cursors]


_DJANGO = """
import sys
import django
from django.conf import settings

name, host, port, user = sys.argv[1:]
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": name, "HOST": host, "PORT": port, "USER": user}}, USE_TZ=True)
django.setup()
from django.db import connection, connections, transaction
import fairlead

with transaction.atomic():
    print(fairlead.enqueue(connection, "django", {"day": "100%"}))
    print(fairlead.enqueue(connections["default"], "alias"))
with transaction.atomic():
    fairlead.enqueue(connection, "lost")
    transaction.set_rollback(True)
"""


def test_djangos_connection_will_do(tmp_path: Path, db: Connection[TupleRow]) -> None:
    """In the block that is atomic."""
    script, info = tmp_path / "script.py", db.info
    script.write_text(_DJANGO)

    done = subprocess.run(
        [sys.executable, str(script), info.dbname, info.host, str(info.port), info.user],
        check=False,
        capture_output=True,
        text=True,
    )

    found = db.execute(_JOBS).fetchall()
    assert [("django", {"day": "100%"}), ("alias", {})] == [row[1:] for row in found]
    assert [row[0] for row in found] == list(map(int, done.stdout.split())), done.stderr


class Asynchronous:
    """A connection whose calls are awaited, such as asyncpg's."""

    async def execute(self, statement: str) -> str:
        """Run a statement."""
        return statement

    async def fetchall(self) -> list[object]:
        """Return no rows."""
        return []


_REFUSED: list[tuple[object, str]] = [
    ("postgresql://", "^enqueue takes psycopg's connection .*, and not str$"),
    (None, "and not NoneType$"),
    (
        sqlalchemy.create_engine("postgresql+psycopg://"),
        r"SQLAlchemy's Session or Connection, .* and not sqlalchemy\.engine\.base\.Engine$",
    ),
    (
        Asynchronous(),
        r"^enqueue cannot use tests\..*\.Asynchronous: .* psycopg's, asyncpg's, and SQLAlch",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), _REFUSED)
def test_what_is_no_connection_is_refused_with_a_sentence(given: object, sentence: str) -> None:
    """It names what would do."""
    connection = cast("OtherConnection", given)

    with pytest.raises(TypeError, match=sentence):
        fairlead.enqueue(connection, "k")
    with pytest.raises(TypeError, match=sentence):
        fairlead.enqueue_many(connection, [fairlead.NewJob(kind="k")])
