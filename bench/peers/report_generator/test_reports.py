"""The report generator's own tests: DATABASE_URL names an empty database."""

import os
from collections.abc import Iterator
from pathlib import Path

import procrastinate
import psycopg
import pytest
from fastapi.testclient import TestClient

import reports
import web

SALES = "INSERT INTO sales VALUES ('acme', 'Bern', '2026-10-31', 990), ('acme', 'Basel', %s, 1)"
JOBS = "SELECT id FROM procrastinate_jobs WHERE task_name = 'report' AND status = 'todo'"


@pytest.fixture
def db() -> Iterator[psycopg.Connection]:
    """Yield a connection to the database, with two shops of one customer."""
    url = os.environ["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
            with reports.queue.open():
                reports.queue.schema_manager.apply_schema()
        connection.execute(Path(__file__).with_name("tables.sql").read_bytes())
        connection.execute(SALES, ["2026-11-01"])
        yield connection
        connection.execute("TRUNCATE sales, reports, procrastinate_jobs CASCADE")


@pytest.fixture
def client(db: psycopg.Connection) -> Iterator[TestClient]:
    """Yield the application, with its connections."""
    assert not db.closed
    with TestClient(web.app) as started:
        yield started


def drain(db: psycopg.Connection) -> dict[str, int]:
    """Run what is ordered, and return how many jobs ended how."""
    own = procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"])
    with reports.queue.replace_connector(own) as app:
        app.run_worker(wait=False, install_signal_handlers=False, listen_notify=False)
    counted = "SELECT status, count(*) FROM procrastinate_jobs GROUP BY 1"
    return dict(db.execute(counted).fetchall())


def test_a_report_is_ordered_built_and_read(client: TestClient, db: psycopg.Connection) -> None:
    """Each shop has what it sold in that month."""
    page = client.post("/acme/reports", params={"month": "2026-10-01"}).text
    ((job,),) = db.execute(JOBS).fetchall()
    assert f'action="reports/{job}/cancel">October 2026: todo' in page

    assert {"succeeded": 1} == drain(db)

    assert f'<a href="reports/{job}">October 2026' in client.get("/acme/").text
    assert "Basel: 0.00\nBern: 9.90" == client.get(f"/acme/reports/{job}").text


def test_a_report_that_waits_is_cancelled(client: TestClient, db: psycopg.Connection) -> None:
    """Its job will not run, and nobody else can cancel it."""
    client.post("/acme/reports", params={"month": "2026-10-01"})
    ((job,),) = db.execute(JOBS).fetchall()
    assert 404 == client.post(f"/globex/reports/{job}/cancel").status_code

    page = client.post(f"/acme/reports/{job}/cancel").text

    assert "October 2026: cancelled" in page
    assert {"cancelled": 1} == drain(db)
    assert 404 == client.get(f"/acme/reports/{job}").status_code


def test_a_report_without_its_row_has_no_job(
    client: TestClient, db: psycopg.Connection
) -> None:
    """What fails behind the enqueue takes the job with it."""
    db.execute("ALTER TABLE reports RENAME TO away")

    with pytest.raises(psycopg.errors.UndefinedTable):
        client.post("/acme/reports", params={"month": "2026-10-01"})

    db.execute("ALTER TABLE away RENAME TO reports")
    assert [] == db.execute(JOBS).fetchall()


def test_a_report_says_how_far_it_is_and_stops_when_asked(db: psycopg.Connection) -> None:
    """After each shop."""

    class Stub:
        """Stand in for a job's context."""

        job = type("StubJob", (), {"id": 7})
        stops = False

        def should_abort(self) -> bool:
            """Tell whether to stop."""
            return self.stops

    db.execute(reports.NEW, [7, "acme", "2026-10-01"])
    context = Stub()
    reports.build.func(context, "acme", "2026-10-01")
    assert [(1.0,)] == db.execute("SELECT done FROM reports").fetchall()
    context.stops = True
    with pytest.raises(procrastinate.exceptions.JobAborted):
        reports.build.func(context, "acme", "2026-10-01")


def test_all_reports_are_ordered_every_month(db: psycopg.Connection) -> None:
    """For each customer, as jobs of theirs."""
    db.execute("INSERT INTO sales VALUES ('globex', 'Ulm', now(), 1)")
    with reports.queue.open():
        reports.order_all.defer(timestamp=0)

    assert {"succeeded": 3} == drain(db)

    rows = db.execute("SELECT customer, month FROM reports ORDER BY customer").fetchall()
    assert [(name, reports.last_month()) for name in ("acme", "globex")] == rows
