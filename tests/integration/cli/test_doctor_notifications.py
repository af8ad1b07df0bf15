"""`fairlead doctor` names who keeps the server's queue of notifications from emptying."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.inspection.doctor import server
from tests.conftest import Connect
from tests.support.doctoring import Examine, mend
from tests.support.logins import LogIn, as_login

SENT = "SELECT pg_notify('x', rpad(i::text, 7900, 'y')) FROM generate_series(1, 100) i"


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Examine:
    """Return a function that asks the doctor."""
    return Examine(monkeypatch, capsys)


@pytest.fixture
def holder(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> Connection[TupleRow]:
    """Return a session in a transaction that has listened; a few pages count as too many."""
    monkeypatch.setattr(server, "NOTIFICATIONS_USUAL", 1e-5)
    session = connect()
    session.execute("SET application_name = 'slow listener'")
    session.execute("LISTEN x")
    session.execute("BEGIN")
    session.execute("SELECT 1")
    return session


def test_who_keeps_the_queue_of_notifications_full_is_named_until_it_is_ended(
    database_url: str, examine: Examine, holder: Connection[TupleRow], log_in: LogIn
) -> None:
    """Any login of the database fills it."""
    assert () == examine(database_url).of("notifications")
    log_in().execute(SENT)

    found = examine(database_url).one("notifications")

    who = f"of session {holder.info.backend_pid} (slow listener, login fairlead, database test_"
    assert who in str(found["what"])
    mend(database_url, found)
    assert () == examine(database_url).of("notifications")


def test_the_oldest_transaction_is_named(
    database_url: str, examine: Examine, holder: Connection[TupleRow], connect: Connect
) -> None:
    """A younger one has read what was sent before it began."""
    connect().execute(SENT)
    younger = connect(autocommit=False)
    younger.execute("SELECT 1")

    found = examine(database_url).one("notifications")

    assert f"of session {holder.info.backend_pid} (" in str(found["what"])


def test_a_login_that_sees_no_other_sessions_names_none(
    database_url: str, examine: Examine, holder: Connection[TupleRow], log_in: LogIn
) -> None:
    """Not one of its own, which is not the oldest."""
    own = log_in("fairlead_operator")
    own.execute(SENT)
    own.execute("BEGIN")
    own.execute("SELECT 1")

    found = examine(as_login(database_url, own.info.user)).one("notifications")

    assert "cannot be seen" in str(found["what"])
    own.execute("ROLLBACK")
    holder.execute("ROLLBACK")
    assert () == examine(database_url).of("notifications")
