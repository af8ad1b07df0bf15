"""The console's sessions can write nothing, whatever login it is given."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from fairlead.db.statements import load
from fairlead.settings import DatabaseSettings
from fairlead_console.reads.sessions import ROLE, Sessions, Unusable
from tests.support.consoles import SCREENS, browsing
from tests.support.logins import as_login, login
from tests.support.race import Database, insert_one

WRITES = (
    "INSERT INTO fairlead.jobs (queue, kind) VALUES ('q', 'k')",
    "UPDATE fairlead.jobs SET priority = 1",
    "DELETE FROM fairlead.jobs",
    "UPDATE fairlead.schedules SET enabled = false",
    "SELECT fairlead.enqueue('k')",
    "SELECT fairlead.cancel(1)",
    "SELECT fairlead.retry(1)",
    "SELECT fairlead.redrive('q')",
    "SELECT fairlead.pause('q')",
    "SELECT fairlead.run_schedule('', 's')",
    "SELECT fairlead.apply_policy('x', 'x', 'x', 'x')",
    "SELECT nextval('fairlead.places')",
    "CREATE TABLE fairlead.mine (id integer)",
)
REFUSED = (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)


@pytest.fixture(params=["the owner", "a viewer"])
def url(request: pytest.FixtureRequest, database_url: str) -> Iterator[str]:
    """Yield a URL with the rights of the schema's owner, and one with a viewer's."""
    if request.param == "the owner":
        yield database_url
        return
    with login(database_url, ROLE) as name:
        yield as_login(database_url, name)


@pytest.mark.parametrize("asks", [False, True])
def test_a_session_of_the_console_writes_nothing(url: str, db: Database, *, asks: bool) -> None:
    """Neither those that read nor those that ask the leader."""
    insert_one(db)
    sessions = Sessions(DatabaseSettings(database_url=url), asks=asks)
    for statement in WRITES:
        with sessions.one() as session, pytest.raises(REFUSED):
            session.execute(statement.encode())
    with sessions.one() as session:
        assert [(1,)] == session.execute("SELECT count(*) FROM fairlead.jobs").fetchall()
    sessions.close()


def test_a_session_that_reads_may_not_even_ask(url: str, db: Database) -> None:
    """Its transactions are read only; a question is stored."""
    job = insert_one(db)
    db.execute(
        "UPDATE fairlead.leaders SET epoch = 1, lease_until = now() + interval '1 hour'"
        " WHERE role = 'scheduler'"
    )
    asking, reading = (
        Sessions(DatabaseSettings(database_url=url), asks=asks) for asks in (True, False)
    )
    explain = load("fairlead.inspection", "explain")

    with asking.one() as session:
        session.execute(explain, {"id": job})
    with reading.one() as session, pytest.raises(errors.ReadOnlySqlTransaction):
        session.execute(explain, {"id": job})
    assert [(job,)] == db.execute("SELECT job_id FROM fairlead.explain_requests").fetchall()
    for each in (asking, reading):
        each.close()


def test_a_statement_ends_after_three_seconds(url: str) -> None:
    """And the session is good for the next one."""
    sessions = Sessions(DatabaseSettings(database_url=url))
    with sessions.one() as session:
        with pytest.raises(errors.QueryCanceled):
            session.execute("SELECT pg_sleep(10)")
        assert (1,) == session.execute("SELECT 1").fetchone()
    sessions.close()


def test_a_login_that_may_not_act_as_a_viewer_is_told(database_url: str) -> None:
    """With the command that mends it, by the program at its start and by each page."""
    with login(database_url, "fairlead_operator") as name:
        url = as_login(database_url, name)
        sessions = Sessions(DatabaseSettings(database_url=url))
        advice = f"fairlead roles grant {name} --as viewer"
        with pytest.raises(Unusable, match=advice), sessions.one():
            pass
        with browsing(url) as client:
            page = client.get("/")

    assert 503 == page.status_code
    assert "--as viewer" in page.text


def test_every_screen_is_a_viewers_to_see(database_url: str, db: Database) -> None:
    """Nothing that a page reads is refused to the role that it is for."""
    job = insert_one(db)
    with login(database_url, ROLE) as name, browsing(as_login(database_url, name)) as client:
        for path in (*SCREENS, f"/jobs/{job}"):
            assert 200 == client.get(path).status_code


def test_sessions_are_few_and_used_again(database_url: str, db: Database) -> None:
    """Two hundred browsers open no more than a few."""
    sessions = Sessions(DatabaseSettings(database_url=database_url))
    pids: set[int] = set()
    for _ in range(20):
        with sessions.one() as session:
            pids.add(session.info.backend_pid)
    assert 1 == len(pids)
    with sessions.one() as session:
        db.execute("SELECT pg_terminate_backend(%s, 10000)", [session.info.backend_pid])
        with pytest.raises(psycopg.Error):
            session.execute("SELECT 1")
    with sessions.one() as session:
        assert session.info.backend_pid not in pids
    sessions.close()


def test_for_how_long_sessions_are_lent_is_added_up(database_url: str) -> None:
    """That is what pages cost the database, and how often they are asked for follows it."""
    sessions = Sessions(DatabaseSettings(database_url=database_url))
    with sessions.one() as session:
        session.execute("SELECT pg_sleep(0.05)")
    once = sessions.lent_seconds
    with sessions.one() as session:
        session.execute("SELECT pg_sleep(0.05)")

    assert 0.05 <= once
    assert once + 0.05 <= sessions.lent_seconds
    sessions.close()


def test_a_session_that_is_in_use_at_the_end_is_closed_when_it_comes_back(
    database_url: str,
) -> None:
    """The doctor may be looking when the console ends."""
    sessions = Sessions(DatabaseSettings(database_url=database_url))
    with sessions.one() as session:
        sessions.close()
        assert not session.closed
    assert session.closed
