"""Programs work whatever a role, a database or an environment sets for their sessions."""

import json
import random
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import get_args

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import Tasks, testing
from fairlead.db import session_settings
from fairlead.db.connect import connect, connect_service
from fairlead.settings import DatabaseSettings
from tests.chaos.fleet import fleet
from tests.integration.conftest import Fairlead
from tests.support.logins import LogIn
from tests.support.programs import UNHURRIED, forked
from tests.support.testing_app import noting, outcomes
from tests.support.waiting import until
from tests.support.worst_settings import Source, set_by, worst

SOURCES = get_args(Source)
TENANT = "日本"
SAID = "🐝"
_LEVELS = {
    "transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "transaction_deferrable": "off",
}
"""What a shared session's transactions begin with, in place of its defaults."""
_NAP = """
    INSERT INTO fairlead.jobs (kind, tenant, payload)
    VALUES ('nap', %s, jsonb_build_object('ms', %s::int, 'said', %s::text)) RETURNING id
"""
_ENDED = "SELECT tenant, outcome, payload ->> 'said' FROM fairlead.job_history WHERE id = %s"
_INSIDE_CLAIM = "_read_claimed"
"""A function that only `claim` calls, which has `jit = off`."""
_EPOCHS = "SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'"


def wanted(server_version: int) -> dict[str, str]:
    """Return what a service's session sets, as `current_setting` writes it."""
    commands = session_settings.of_session(server_version, session_settings.SERVICE).decode()
    pairs = (command.removeprefix("set ").split(" = ") for command in commands.split("; "))
    return {name: value.strip("'") for name, value in pairs}


def nap(db: Connection[TupleRow], milliseconds: int) -> int:
    """Insert a job with texts that few encodings have; return its id."""
    row = db.execute(_NAP, [TENANT, milliseconds, SAID]).fetchone()
    assert row is not None
    return int(row[0])


def ending(db: Connection[TupleRow], job: int) -> tuple[object, ...]:
    """Wait until a job has ended; return its tenant, its outcome and its text."""
    return until(
        lambda: db.execute(_ENDED, [job]).fetchone(), what=f"the end of {job}", seconds=40
    )


@pytest.mark.parametrize("version", [150_000, 170_000])
def test_every_setting_of_the_list_has_a_worst_value(version: int) -> None:
    """So the tests below meet each, and none that is right by itself."""
    assert {*worst(version)} == {*wanted(version)}
    assert not worst(version).items() & wanted(version).items()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("direct", [True, False])
def test_a_service_sets_what_it_depends_on(
    database_url: str,
    db: Connection[TupleRow],
    monkeypatch: pytest.MonkeyPatch,
    source: Source,
    *,
    direct: bool,
) -> None:
    """For the session where it is its own, and else in each transaction."""
    version = db.info.server_version
    names = [*worst(version)]
    expected = wanted(version)
    if not direct:
        of_sessions = ("default_transaction", "idle_session_timeout")
        names = [name for name in names if not name.startswith(of_sessions)] + [*_LEVELS]
        expected |= _LEVELS
    with set_by(source, database_url, worst(version), monkeypatch) as url:
        with psycopg.connect(url) as bare:
            worst_of_all = settings_of(bare, names)
        settings = DatabaseSettings(database_url=url, database_direct=direct)
        with closing(connect_service(settings, name="test")) as session, session.transaction():
            found = settings_of(session, names)

    # The names are not those of the list, so that a line less is seen.
    assert [] == [name for name in names if found[name] == worst_of_all[name]]
    assert {name: found[name] for name in expected if name in names} == {
        name: value for name, value in expected.items() if name in names
    }


def settings_of(session: Connection[TupleRow], names: Sequence[str]) -> dict[str, str]:
    """Return what a session's transaction goes by."""
    shown = {
        name: session.execute("SELECT current_setting(%s)", [name]).fetchone() for name in names
    }
    return {name: row[0] for name, row in shown.items() if row is not None}


@pytest.mark.parametrize("direct", [True, False])
def test_a_process_that_freezes_in_a_transaction_keeps_no_lock(
    database_url: str, db: Connection[TupleRow], *, direct: bool
) -> None:
    """The server ends it after 5 s, whoever's session it is."""
    settings = DatabaseSettings(database_url=database_url, database_direct=direct)
    db.execute("SET lock_timeout = '10s'")
    with ExitStack() as opened:
        opened.enter_context(suppress(psycopg.errors.IdleInTransactionSessionTimeout))
        session = opened.enter_context(closing(connect_service(settings, name="test")))
        opened.enter_context(session.transaction())
        session.execute("LOCK TABLE fairlead.leaders")

        with db.transaction():
            db.execute("LOCK TABLE fairlead.leaders")


@pytest.mark.parametrize("source", SOURCES)
def test_a_session_that_may_be_shared_is_left_as_it_was(
    database_url: str,
    db: Connection[TupleRow],
    monkeypatch: pytest.MonkeyPatch,
    source: Source,
) -> None:
    """What a statement sets ends with its transaction, and its rows can still be read."""
    bad = worst(db.info.server_version)
    with (
        set_by(source, database_url, bad, monkeypatch) as url,
        closing(connect(DatabaseSettings(database_url=url), name="test")) as session,
    ):
        (row,) = session.execute("SELECT '2026-11-27 12:00Z'::timestamptz, %s", [SAID])
        bare = psycopg.Cursor(session)
        left = {name: bare.execute(f"SHOW {name}".encode()).fetchone() for name in bad}

    assert ["2026-11-27 12:00:00+00:00", SAID] == [*map(str, row)]
    changed = {name for name, value in bad.items() if (value,) != left[name]}
    # The one is asked for when the session begins; to the other PostgreSQL adds an order.
    assert {"client_encoding", "datestyle"} == changed


def test_a_command_has_no_limit_of_time(
    database_url: str, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor between two statements of a transaction; a service's sessions have one there."""
    limits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    with (
        set_by("database", database_url, worst(db.info.server_version), monkeypatch),
        closing(connect(DatabaseSettings(database_url=database_url), name="test")) as session,
        session.transaction(),
    ):
        found = [session.execute(f"SHOW {name}".encode()).fetchone() for name in limits]

    assert [("0",)] * 3 == found


def test_commands_work_whatever_sessions_begin_with(
    database_url: str,
    db: Connection[TupleRow],
    monkeypatch: pytest.MonkeyPatch,
    fairlead: Fairlead,
) -> None:
    """They read and write texts and instants, and change what they are asked to change."""
    with set_by("database", database_url, worst(db.info.server_version), monkeypatch):
        fairlead("migrate")
        payload = json.dumps({"said": SAID}, ensure_ascii=False)
        given = ("--tenant", TENANT, "--run-at", "2100-01-01T00:00:00Z")
        job = fairlead("enqueue", "k", payload, *given, "--timeout", "90s").split()[-1]
        shown = fairlead("jobs", "show", job, "--json")
        fairlead("doctor", code=1)
        for command in ("queues", "workers list", "schedules list", "policy history"):
            fairlead(*command.split())
        fairlead("explain", job)
        fairlead("jobs", "retry", job)
        listed = fairlead("jobs", "list", "--json")
        fairlead("jobs", "cancel", job)
        entries = fairlead("audit", "--json")

    assert "2100-01-01T00:00:00+00:00" in shown
    assert [TENANT] == [each["tenant"] for each in json.loads(listed)]
    assert ["cancel", "retry"] == sorted(each["verb"] for each in json.loads(entries))


def test_a_drain_works_whatever_sessions_begin_with(
    database_url: str, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a URL it opens a session of its own."""
    tasks = Tasks()
    ran = noting(tasks)
    db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, payload)"
        " VALUES ('note', %s, to_jsonb(%s::text))",
        [TENANT, SAID],
    )
    with set_by("database", database_url, worst(db.info.server_version), monkeypatch):
        drained = testing.drain(tasks, database_url)

    assert ([SAID], [(1, "succeeded")]) == (ran, outcomes(drained))


def test_a_fleet_works_whatever_sessions_begin_with(
    database_url: str,
    db: Connection[TupleRow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its jobs end, it outlives the death of a child, and it stops when it is asked to."""
    with (
        set_by("database", database_url, worst(db.info.server_version), monkeypatch),
        fleet(database_url, tmp_path, UNHURRIED, starts=forked) as made,
    ):
        scheduler, worker = made.scheduler(), made.worker()
        first = ending(db, nap(db, 1))
        long = nap(db, 2000)
        made.await_starts([long], 1)
        worker.kill_child(random.Random(1))
        second = ending(db, long)
        led = db.execute(_EPOCHS).fetchall()
        stopped = worker.stop(), scheduler.stop()

    assert [(TENANT, "succeeded", SAID)] * 2 == [first, second]
    assert ([(1,)], (0, 0)) == (led, stopped)


def test_what_applications_call_depends_on_no_setting_of_theirs(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """An INSERT stores and refuses the same, and functions answer the same."""
    session = log_in("fairlead_admin")
    usual = answers(session, db)
    # A function says that it needs READ COMMITTED, and who sets the others wants them.
    wished = ("default_transaction", "row_security", "exit_on_error")
    for name, value in worst(db.info.server_version).items():
        if not name.startswith(wished):
            session.execute(f"SET {name} = '{value}'".encode())

    assert usual == answers(session, db)


def answers(session: Connection[TupleRow], db: Connection[TupleRow]) -> list[object]:
    """Return what an application gets for an unusual job, a bad one, and by each function."""
    unusual = (
        "INSERT INTO fairlead.jobs (kind, tenant, run_at, expires_at, timeout, cost_hint,"
        " headers, dedup_key, payload) VALUES ('k', 't', {}, '2100-01-02 00:00+00', '90 s',"
        """ '1.5 s', '{{"a": 1.25}}', 'd', '{{"a": [1.1, null]}}') RETURNING id"""
    )
    stored = "SELECT to_jsonb(j) - '{id,seq,created_at}'::text[] FROM fairlead.jobs j"
    found: list[object] = []
    for run_at in ("'2100-01-01 00:00+00'", "'2026-01-02 03:04:05.678+00'"):
        (job,) = session.execute(unusual.format(run_at).encode()).fetchall()[0]
        found += db.execute(stored).fetchall()
        (said,) = session.execute("SELECT fairlead.explain(%s)", [job]).fetchall()[0]
        found.append((said["state"], said.get("blocked_by")))
        for call in ("retry(%s) = %s", "cancel(%s)"):
            values = [job] * call.count("%s")
            found += session.execute(f"SELECT fairlead.{call}".encode(), values).fetchall()
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        session.execute("INSERT INTO fairlead.jobs (kind, timeout) VALUES ('k', '31 days')")
    found.append(refused.value.diag.constraint_name)
    session.execute("SELECT fairlead.pause('default', 't')")
    found += session.execute("SELECT fairlead.resume('default', 't')").fetchall()
    return found


def test_no_function_is_compiled_for_what_it_has_switched_off(db: Connection[TupleRow]) -> None:
    """Such a plan seems to cost more than any compilation, in an application's session too."""
    compiled = db.execute(
        "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace"
        " AND EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'enable%off')"
        " AND 'jit=off' <> ALL (p.proconfig)"
    ).fetchall()

    assert [(_INSIDE_CLAIM,)] == compiled
