"""Where connections run out, a standby leads over those that it has held since it started."""

import os
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from fairlead_scheduler.leadership import term_sessions
from fairlead_scheduler.leadership.term_sessions import KeptSessions, TermSessions
from fairlead_scheduler.loop.loop import Loop
from fairlead_scheduler.settings import SchedulerSettings
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
_CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'fairlead scheduler cron'
"""
_PIDS = """
    SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'fairlead scheduler %'
    ORDER BY pid
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


def test_a_leader_whose_term_ends_by_an_error_leads_again_over_the_sessions_that_it_has(
    small: Server, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opens none: whatever it gave back would be taken by whoever asks first."""
    step = Loop.step

    def fail(_self: Loop) -> timedelta:
        monkeypatch.setattr(Loop, "step", step)
        raise psycopg.DataError("it cannot be read")

    with ExitStack() as opened:
        scheduler = opened.enter_context(login(small.url, "fairlead_scheduler"))
        greedy = opened.enter_context(login(small.url))
        opened.enter_context(scheduling(as_login(small.url, scheduler)))
        epoch = led(db)
        until(lambda: len(db.execute(_PIDS).fetchall()) == SESSIONS, what="its sessions alone")
        pids = db.execute(_PIDS).fetchall()
        opened.enter_context(using_up(as_login(small.url, greedy)))

        monkeypatch.setattr(Loop, "step", fail)

        led(db, after=epoch)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")
        assert pids == db.execute(_PIDS).fetchall()


def test_a_leader_that_lost_one_session_opens_that_one_alone(
    small: Server, db: Database
) -> None:
    """The others are kept, and what was begun in them is undone."""
    with scheduling(small.url):
        epoch = led(db)
        until(lambda: len(db.execute(_PIDS).fetchall()) == SESSIONS, what="its sessions alone")
        before = set(db.execute(_PIDS).fetchall())

        db.execute(_CUT)

        led(db, after=epoch)
        after = set(db.execute(_PIDS).fetchall())
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")
    assert SESSIONS == len(after)
    assert SESSIONS - 1 == len(before & after)


def test_a_standby_that_lost_one_session_gives_up_the_others_when_it_gets_no_new_one(
    small: Server, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or two schedulers that lack one each would wait for each other's."""
    monkeypatch.setattr(term_sessions, "_INCOMPLETE_SECONDS_MAX", 0.5)
    with ExitStack() as opened:
        scheduler = opened.enter_context(login(small.url, "fairlead_scheduler"))
        greedy = opened.enter_context(login(small.url))
        opened.enter_context(scheduling(as_login(small.url, scheduler)))
        led(db)
        until(lambda: len(db.execute(_PIDS).fetchall()) == SESSIONS, what="its sessions alone")
        with using_up(as_login(small.url, greedy)):
            db.execute(_CUT)

            until(lambda: db.execute(_HELD).fetchone() == (0,), what="none being held")


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


def test_sessions_of_a_standby_server_are_not_kept(
    small: Server, db: Database, migrated_data: Path, tmp_path: Path, logged: Lines
) -> None:
    """The address may mean the primary by now: after a fail-over, it is found late."""
    address = tmp_path / "url"
    with running_server(
        FAST, within=fast_folder(), data=migrated_data, primary=small
    ) as standby_server:
        address.write_text(standby_server.url, "utf-8")
        with scheduling("", database_url_file=address):
            until(lambda: "during recovery" in str(logged()), what="the refusal")

            address.write_text(small.url, "utf-8")

            led(db)


def test_a_term_leaves_nothing_in_the_sessions_that_it_hands_on(small: Server) -> None:
    """No transaction, no channel, no prepared statement; what is lost or busy is closed."""
    settings = SchedulerSettings.model_validate({"database_url": small.url})
    with ExitStack() as opened:
        kept = opened.enter_context(closing(KeptSessions(settings)))
        first = kept.complete()
        first.loop.execute("LISTEN fairlead_scheduler")
        first.scans.execute("SELECT 1", prepare=True)
        first.scans.execute("BEGIN")
        first.sweeps.execute("BEGIN")
        with pytest.raises(psycopg.DataError):
            first.sweeps.execute("SELECT 1 / 0")
        first.cron.close()
        first.backlog.pgconn.send_query(b"SELECT pg_sleep(60)")

        kept.settle()
        second = kept.complete()

        assert {"cron", "backlog"} == {
            name for name, was in first._asdict().items() if getattr(second, name) is not was
        }
        assert {TransactionStatus.IDLE} == {each.info.transaction_status for each in second}
        assert [] == second.loop.execute("SELECT pg_listening_channels()").fetchall()
        assert [] == second.scans.execute("SELECT FROM pg_prepared_statements").fetchall()


def test_sessions_of_a_frozen_server_are_given_up(small: Server) -> None:
    """It refuses nothing, and the kernel of its machine acknowledges everything."""
    values = {"database_url": small.url, "network_timeout_seconds": 2}
    kept = KeptSessions(SchedulerSettings.model_validate(values))
    with closing(kept):
        backends = [session.info.backend_pid for session in kept.complete()]
        for backend in backends:
            os.kill(backend, signal.SIGSTOP)
        try:
            kept.settle()
        finally:
            for backend in backends:
                os.kill(backend, signal.SIGCONT)

        assert kept.is_empty
