"""The report generator's own tests: TEST_DATABASE_URL names an empty database.

cd examples/report_generator && pytest
"""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fastapi.testclient import TestClient

import fairlead
import reports
import web
from fairlead import testing
from fairlead.db.migrate import migrate

SALES = "INSERT INTO sales VALUES ('acme', 'Bern', '2026-10-31', 990), ('acme', 'Basel', %s, 1)"


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """Yield a connection to the database, with two shops of one customer."""
    url = os.environ["TEST_DATABASE_URL"]
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)
    with psycopg.connect(url, autocommit=True) as connection:
        migrate(connection)
        connection.execute(Path(__file__).with_name("tables.sql").read_bytes())
        connection.execute(SALES, ["2026-11-01"])
        yield connection
        connection.execute("TRUNCATE sales, reports")
        connection.execute("DELETE FROM fairlead.jobs")


@pytest.fixture
def client(db: psycopg.Connection) -> Iterator[TestClient]:
    """Yield the application, with its connections."""
    assert not db.closed
    with TestClient(web.app) as started:
        yield started


def drain() -> list[str]:
    """Run what is ordered, and return how its attempts ended."""
    drained = testing.drain(reports.tasks, os.environ["FAIRLEAD_DATABASE_URL"])
    return [each.outcome for each in drained.endings]


def test_a_report_is_ordered_built_and_read(client: TestClient, db: psycopg.Connection) -> None:
    """Each shop has what it sold in that month."""
    page = client.post("/acme/reports", params={"month": "2026-10-01"}).text
    (job,) = testing.enqueued(db, "report", tenant="acme", queue="reports")
    assert f'action="reports/{job.id}/cancel">October 2026: pending' in page

    assert ["succeeded"] == drain()

    assert f'<a href="reports/{job.id}">October 2026' in client.get("/acme/").text
    assert "Basel: 0.00\nBern: 9.90" == client.get(f"/acme/reports/{job.id}").text


def test_a_report_that_waits_is_cancelled(client: TestClient, db: psycopg.Connection) -> None:
    """Its job will not run, and nobody else can cancel it."""
    client.post("/acme/reports", params={"month": "2026-10-01"})
    (job,) = testing.enqueued(db, "report")
    assert 404 == client.post(f"/globex/reports/{job.id}/cancel").status_code

    page = client.post(f"/acme/reports/{job.id}/cancel").text

    assert "October 2026: cancelled" in page
    assert [] == drain()
    assert 404 == client.get(f"/acme/reports/{job.id}").status_code


def test_a_report_without_its_row_has_no_job(
    client: TestClient, db: psycopg.Connection
) -> None:
    """What fails behind the enqueue takes the job with it."""
    db.execute("ALTER TABLE reports RENAME TO away")

    with pytest.raises(psycopg.errors.UndefinedTable):
        client.post("/acme/reports", params={"month": "2026-10-01"})

    db.execute("ALTER TABLE away RENAME TO reports")
    assert () == testing.enqueued(db)


@pytest.mark.usefixtures("db")
def test_a_report_says_how_far_it_is_and_stops_when_asked() -> None:
    """After each shop."""
    recorder, stopped = testing.AttemptRecorder(), testing.AttemptRecorder(cancelled=True)
    payload = {"month": "2026-10-01"}

    testing.run(reports.tasks, "report", payload, tenant="acme", recorder=recorder)
    with pytest.raises(fairlead.Cancelled):
        testing.run(reports.tasks, "report", payload, tenant="acme", recorder=stopped)

    assert ((0.5, "Basel"), (1.0, "Bern")) == recorder.progress
    assert () == stopped.progress


def test_all_reports_are_ordered_every_month(db: psycopg.Connection) -> None:
    """For each customer, as jobs of theirs."""
    db.execute("INSERT INTO sales VALUES ('globex', 'Ulm', now(), 1)")
    assert ["order_all"] == [schedule.kind for schedule in reports.tasks.schedules]
    fairlead.enqueue(db, "order_all")

    assert ["succeeded"] * 3 == drain()

    rows = db.execute("SELECT customer, month FROM reports ORDER BY customer").fetchall()
    assert [(name, reports.last_month()) for name in ("acme", "globex")] == rows
