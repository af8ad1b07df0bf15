"""The contract through PgBouncer in transaction mode, where sessions are shared."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead_cli.main import run
from tests.chaos.fleet import fleet
from tests.support import pgbouncer, race
from tests.support.programs import UNHURRIED, forked
from tests.support.waiting import until
from tests.support.worst_settings import worst

pytestmark = pytest.mark.skipif(
    pgbouncer.program() is None, reason="PgBouncer is not installed (Debian: pgbouncer)"
)

CLIENTS = 20
INSERT = (
    "INSERT INTO fairlead.jobs (kind, dedup_key) VALUES ('k', %s)"
    " ON CONFLICT DO NOTHING RETURNING id"
)
COUNT = "SELECT count(*) FROM fairlead.jobs"


@pytest.fixture
def pooled_url(database_url: str) -> Iterator[str]:
    """Yield the URL of the test's database by way of PgBouncer."""
    with pgbouncer.pooled(database_url) as url:
        yield url


@pytest.fixture
def pooled(pooled_url: str) -> Iterator[Connection[TupleRow]]:
    """Yield a client's connection; nothing is prepared, since the session is shared."""
    with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as connection:
        yield connection


def test_inserts_of_many_clients_are_jobs(pooled_url: str, db: Connection[TupleRow]) -> None:
    """Twenty clients share two sessions; duplicates return no row."""
    for number in range(CLIENTS):
        with psycopg.connect(pooled_url, prepare_threshold=None) as client:
            first = client.execute(INSERT, [f"key {number}"]).fetchone()
            again = client.execute(INSERT, [f"key {number}"]).fetchone()
            assert first is not None
            assert again is None

    assert (CLIENTS,) == db.execute(COUNT).fetchone()


def test_a_full_lane_refuses_who_comes_through_it(
    pooled: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Nothing of a session is asked, so that every client of a pool meets the limit."""
    pooled.execute(INSERT, ["before"])
    db.execute(
        "INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)"
        " VALUES ('default', '', 1, 0)"
    )
    db.execute("SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/'))")

    with pytest.raises(fairlead.OverBacklog):
        fairlead.enqueue(pooled, "k")
    assert (1,) == db.execute(COUNT).fetchone()


def test_a_rollback_leaves_nothing(pooled_url: str, db: Connection[TupleRow]) -> None:
    """A transaction keeps its session, and the job goes with it."""
    with psycopg.connect(pooled_url, prepare_threshold=None) as client:
        client.execute(INSERT, ["key"])
        client.rollback()

    assert (0,) == db.execute(COUNT).fetchone()


def test_copy_and_the_python_door_work(
    pooled: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """COPY and `fairlead.enqueue` are statements like any other."""
    with pooled.cursor().copy("COPY fairlead.jobs (kind) FROM STDIN") as copy:
        copy.write_row(("k",))
    with pooled.transaction():
        assert fairlead.enqueue(pooled, "k", {"a": 1}) is not None

    assert (2,) == db.execute(COUNT).fetchone()


def test_a_wait_looks_again_and_again(pooled_url: str, db: Connection[TupleRow]) -> None:
    """No shared session begins to listen: what it hears would reach another client."""
    job = race.insert_one(db)
    with psycopg.connect(pooled_url) as mine, ThreadPoolExecutor() as threads:
        waits = threads.submit(fairlead.wait, mine, job, timeout=15)
        until(lambda: db.execute("SELECT 1 FROM fairlead.waits").fetchone(), what="it waits")
        race.cancel(db, job)

        assert "cancelled" == waits.result().state
        assert None is mine.execute("SELECT pg_listening_channels()").fetchone()


def test_functions_of_handlers_and_people_work(
    pooled: Connection[TupleRow],
) -> None:
    """Each is one statement and needs no session."""
    job = pooled.execute(INSERT, ["key"]).fetchone()
    assert job is not None

    assert ("cancelled",) == pooled.execute("SELECT fairlead.cancel(%s)", job).fetchone()
    retried = pooled.execute("SELECT fairlead.retry(%s)", job).fetchone()
    assert retried is not None
    pooled.execute("SELECT fairlead.pause('default')")
    assert (True,) == pooled.execute("SELECT fairlead.resume('default')").fetchone()
    assert ("pending",) == pooled.execute(
        "SELECT state FROM fairlead.job_status WHERE id = %s", retried
    ).fetchone()


def test_no_insert_leaves_a_lock_in_a_shared_session(
    pooled: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """The triggers take none that outlives the transaction."""
    pooled.execute(INSERT, ["key"])

    assert [] == db.execute("SELECT * FROM pg_locks WHERE locktype = 'advisory'").fetchall()


def test_the_command_line_works(
    pooled_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It leaves nothing prepared for a session's next client; some ids are unknown."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", pooled_url)
    cancel = "jobs cancel 1 7 7 8 8 9 9"

    codes = [
        run(command.split())
        for command in ("migrate", "enqueue k", "queues", "jobs list", cancel, cancel)
    ]

    assert [0, 0, 0, 0, 1, 1] == codes
    assert "pending" in capsys.readouterr().out


def test_a_fleet_works_in_sessions_that_an_application_has_set(
    pooled_url: str,
    db: Connection[TupleRow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Jobs end, a worker that stops gives back what runs, and commands do what they say."""
    ending = {"exit_on_error", "idle_session_timeout"}  # they would end the sessions themselves
    left = {
        name: value
        for name, value in worst(db.info.server_version).items()
        if name not in ending
    }
    pgbouncer.leak(pooled_url, left)
    with psycopg.connect(pooled_url, prepare_threshold=None) as client:
        isolation = client.execute("SHOW default_transaction_isolation").fetchone()
    pooled = {**UNHURRIED, "FAIRLEAD_DATABASE_DIRECT": "false"}
    with fleet(pooled_url, tmp_path, pooled, starts=forked) as made:
        scheduler, worker = made.scheduler(), made.worker(more="--grace-seconds 0.2")
        insert = (
            "INSERT INTO fairlead.jobs (kind, payload) VALUES ('nap', jsonb_build_object('ms',"
            " %s::int)) RETURNING id"
        )
        _, long = (db.execute(insert, [each]).fetchone() for each in (1, 60_000))
        until(lambda: db.execute(COUNT).fetchone() == (1,), what="an ending", seconds=20)
        assert long is not None
        made.await_starts([long[0]], 1)
        stopped = worker.stop()
        held = db.execute("SELECT job_id FROM fairlead.work_queue WHERE worker IS NOT NULL")
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", pooled_url)
        cancelled = run(["jobs", "cancel", str(long[0])])
        stopped += scheduler.stop()

    assert ("serializable",) == isolation
    assert (0, [], 0) == (stopped, held.fetchall(), cancelled)
    assert [("cancelled",), ("succeeded",)] == db.execute(
        "SELECT outcome FROM fairlead.job_history ORDER BY outcome"
    ).fetchall()
