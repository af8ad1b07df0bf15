"""Where connections run out, a standby leads over those that it has held since it started."""

import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from fairlead_scheduler.leadership.term_sessions import TermSessions
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logged import Lines
from tests.support.logins import as_login, login
from tests.support.race import Database, insert_one, places
from tests.support.schedulers import led, scheduler_process, scheduling
from tests.support.waiting import until

SESSIONS = len(TermSessions._fields)
"""How many a scheduler holds."""
_HELD = """
    SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'fairlead scheduler %'
"""


@pytest.fixture
def small(migrated_data: Path) -> Iterator[Server]:
    """Yield a migrated server with room for two schedulers and a few sessions."""
    few = {**FAST, "max_connections": str(2 * SESSIONS + 8)}
    with running_server(few, within=fast_folder(), data=migrated_data) as running:
        yield running


@pytest.fixture
def db(small: Server) -> Iterator[Database]:
    """Yield a superuser's connection: some are kept free for those."""
    with psycopg.connect(small.url, autocommit=True) as connection:
        yield connection


@contextmanager
def using_up(url: str, *, but: int = 0) -> Generator[None]:
    """Take every free connection, and each that becomes free, until the block ends.

    Args:
        url: Of a login without special rights.
        but: How many to leave: then those that become free are left as well.
    """
    stop, full = threading.Event(), threading.Event()
    held: list[Connection[TupleRow]] = []

    def take() -> None:
        while not stop.is_set():
            try:
                held.append(psycopg.connect(url, autocommit=True))
            except psycopg.OperationalError:
                full.set()
                if but:
                    return
                stop.wait(0.002)

    taking = threading.Thread(target=take, name="using-up")
    taking.start()
    try:
        assert full.wait(30)
        for _ in range(but):
            held.pop().close()
        yield
    finally:
        stop.set()
        taking.join()
        for connection in held:
            connection.close()


def test_a_standby_leads_when_the_leader_dies_and_every_connection_is_taken(
    small: Server, db: Database
) -> None:
    """The dead leader's connections go to whoever asks first, and it needs none of them."""
    with ExitStack() as opened:
        scheduler = opened.enter_context(login(small.url, "fairlead_scheduler"))
        greedy = opened.enter_context(login(small.url))
        url = as_login(small.url, scheduler)
        leader = opened.enter_context(scheduler_process(url))
        epoch = led(db)
        standby = opened.enter_context(scheduling(url))
        until(standby.scheduler.ready.is_set, what="a standby")
        opened.enter_context(using_up(as_login(small.url, greedy)))

        leader.kill()
        leader.wait()

        led(db, after=epoch)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")


def test_a_scheduler_that_cannot_have_all_its_connections_holds_none(
    small: Server, db: Database, logged: Lines
) -> None:
    """Others may need just those; it says what it needs, and leads once it can have it."""
    with ExitStack() as opened:
        scheduler = opened.enter_context(login(small.url, "fairlead_scheduler"))
        greedy = opened.enter_context(login(small.url))
        with using_up(as_login(small.url, greedy), but=3):
            replica = opened.enter_context(scheduling(as_login(small.url, scheduler)))
            said = until(
                lambda: [
                    str(line["reason"])
                    for line in logged()
                    if f"a scheduler holds {SESSIONS} connections" in str(line)
                ],
                what="the log line",
            )
            until(lambda: db.execute(_HELD).fetchone() == (0,), what="none being held")
            assert not replica.scheduler.ready.is_set()

        led(db)
    assert "too many clients" in said[0] or "remaining connection slots" in said[0]


def test_a_scheduler_gets_the_connections_that_are_kept_for_its_login(small: Server) -> None:
    """As the page for production says: by a reserve, or before 16 by the others' limits."""
    with ExitStack() as opened:
        scheduler = opened.enter_context(login(small.url, "fairlead_scheduler"))
        greedy = opened.enter_context(login(small.url))
        with psycopg.connect(small.url, autocommit=True) as administrator:
            has_reserve = administrator.info.server_version >= 160_000
            if has_reserve:
                reserve = f"ALTER SYSTEM SET reserved_connections = {SESSIONS + 1}"
                administrator.execute(reserve.encode())
                grant = f"GRANT pg_use_reserved_connections TO {scheduler}"
                administrator.execute(grant.encode())
            else:
                administrator.execute(f"ALTER ROLE {greedy} CONNECTION LIMIT 5".encode())
        if has_reserve:
            small.stop()
            small.start()
        observer = opened.enter_context(psycopg.connect(small.url, autocommit=True))
        opened.enter_context(using_up(as_login(small.url, greedy)))

        opened.enter_context(scheduling(as_login(small.url, scheduler)))

        led(observer)


def test_a_standby_notices_within_seconds_that_its_sessions_were_cut(
    small: Server, db: Database
) -> None:
    """It opens all of them anew before it needs one."""
    cut = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'fairlead scheduler cron' AND pid <> ALL (%s)
    """
    pids = (
        "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name LIKE 'fairlead %'"
    )
    with scheduling(small.url):
        led(db)
        (leaders,) = db.execute(pids).fetchall()
        with scheduling(small.url) as standby:
            until(standby.scheduler.ready.is_set, what="a standby")

            assert [(True,)] == db.execute(cut, leaders).fetchall()

            until(lambda: not standby.scheduler.ready.is_set(), what="the loss being noticed")
            until(standby.scheduler.ready.is_set, what="a standby again")
            until(lambda: db.execute(_HELD).fetchone() == (2 * SESSIONS,), what="all of them")
