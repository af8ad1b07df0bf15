"""A scheduler process waits for what it needs, says so, and shows what it does."""

import json
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import psycopg
import pytest

from fairlead.db.migrate import migrate
from fairlead_cli.dev.ports import free_port
from fairlead_cli.dev.postgres import Server
from tests.support.race import Database, insert_one, places
from tests.support.schedulers import led, scheduler_process, scheduling
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


@pytest.fixture
def bare_url(server: Server) -> Iterator[str]:
    """Yield the URL of a database without Fairlead's schema."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bare")
        yield server.url_of("bare")
        connection.execute("DROP DATABASE bare WITH (FORCE)")


def get(port: int, path: str) -> tuple[int, str]:
    """Return a page's status and body; 0 while no process listens."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except ConnectionRefusedError:
        return 0, ""
    finally:
        connection.close()


@contextmanager
def served(url: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """Run a scheduler with its pages on a free port."""
    port = free_port()
    given = {"health_port": port, "health_host": "127.0.0.1", "log_format": "json"}
    with scheduler_process(url, **given) as process:
        until(lambda: get(port, "/livez")[0] == 200, what="the pages", seconds=20)
        yield process, port


def events(process: subprocess.Popen[bytes]) -> list[dict[str, object]]:
    """End the process and return what it logged."""
    process.terminate()
    assert process.stderr is not None
    said = process.stderr.read().decode()
    assert 0 == process.wait(10)
    return [json.loads(line) for line in said.splitlines()]


def test_it_waits_for_the_schema_and_leads_once_it_is_there(bare_url: str) -> None:
    """Without a schema it lives, is not ready, and says what it waits for."""
    with served(bare_url) as (process, port):
        assert 503 == get(port, "/readyz")[0]
        with psycopg.connect(bare_url, autocommit=True) as connection:
            migrate(connection)
            led(connection)
        until(lambda: get(port, "/readyz")[0] == 200, what="being ready")

        waited = [event for event in events(process) if event["event"] == "scheduler.waiting"]
    # It may look between two migrations, and says then that some are missing.
    assert waited
    assert all("run `fairlead migrate`" in str(event["reason"]) for event in waited)


def test_it_waits_for_a_database_that_cannot_be_reached() -> None:
    """A service waits for its database instead of crashing, and stops when asked to."""
    with served(f"postgresql://stranger@127.0.0.1:{free_port()}/nowhere") as (process, port):
        until(lambda: get(port, "/readyz")[0] == 503, what="not being ready")

        waited = [event for event in events(process) if event["event"] == "scheduler.waiting"]
    assert waited
    assert "cannot reach the database" in str(waited[0]["reason"])


def test_a_schema_that_needs_newer_code_is_refused(database_url: str, db: Database) -> None:
    """An incompatible schema exits 2 with one sentence."""
    db.execute(
        "INSERT INTO fairlead.schema_versions (version, name, compatible_from)"
        " VALUES (999, 'newer', 999)"
    )
    with scheduler_process(database_url) as process:
        code = process.wait(20)
        assert process.stderr is not None
        said = process.stderr.read().decode()

    assert (2, 1) == (code, said.count("\n"))
    assert "fairlead: the schema is version 999" in said
    assert "upgrade Fairlead" in said


def test_a_newer_schema_that_is_compatible_is_run_on(database_url: str, db: Database) -> None:
    """A rolled-back release runs on the schema that the newer one left."""
    db.execute(
        "INSERT INTO fairlead.schema_versions (version, name, compatible_from)"
        " VALUES (999, 'newer', 1)"
    )
    with scheduling(database_url):
        led(db)


def test_the_leader_shows_what_it_does_and_the_queues(database_url: str, db: Database) -> None:
    """The counters of the scheduler, and the gauges of the queues by the leader alone."""
    with served(database_url) as (_, port):
        led(db)
        until(
            lambda: "fairlead_scheduler_ticks_total 0.0" not in get(port, "/metrics")[1],
            what="a look",
        )
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")
        db.execute(
            "INSERT INTO fairlead.jobs (kind, run_at) VALUES ('noop', now() + interval '1 h')"
        )

        def shown() -> str | None:
            page = get(port, "/metrics")[1]
            return page if 'queue="default",state="scheduled"} 1.0' in page else None

        page = until(shown, what="the gauges", seconds=20)

    lines = page.splitlines()
    assert 'fairlead_leader{program="scheduler"} 1.0' in lines
    assert 'fairlead_leader_transitions_total{program="scheduler"} 1.0' in lines
    assert 'fairlead_jobs_runnable_total{queue="default"} 1.0' in lines
    assert 'fairlead_queue_depth{queue="default",state="queued"} 1.0' in lines
    assert 'fairlead_queue_scheduled_next_jobs{queue="default",within="10m"} 0.0' in lines
    assert 'fairlead_queue_scheduled_next_jobs{queue="default",within="1h"} 1.0' in lines
    for name in (
        "fairlead_scheduler_ticks_total",
        "fairlead_scheduler_lag_seconds_count",
        "fairlead_queue_oldest_ready_age_seconds",
        "fairlead_promote_batch_count",
        "fairlead_cron_missed_total",
        "fairlead_build_info",
    ):
        assert any(line.startswith(name) for line in lines), name


def test_it_leads_again_after_the_server_was_killed(own_server: Server) -> None:
    """A restart of PostgreSQL is outlived: it reconnects and takes over anew."""
    with scheduling(own_server.url):
        with psycopg.connect(own_server.url, autocommit=True) as connection:
            epoch = led(connection)
        own_server.kill()
        own_server.start()

        with psycopg.connect(own_server.url, autocommit=True) as connection:
            led(connection, after=epoch)
            job = insert_one(connection)
            until(lambda: places(connection, job) == ("queued",), what="a dispatch")


def test_it_works_where_sessions_are_not_its_own(database_url: str, db: Database) -> None:
    """Without direct sessions there is no LISTEN, and no INSERT notifies: it polls."""
    with scheduling(database_url, database_direct=False):
        led(db)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")
        wanted = db.execute(
            "SELECT pg_sequence_last_value('fairlead.inserts_notify')"
        ).fetchone()

    assert (None,) == wanted
