"""The report generator: its own tests pass, and a fleet keeps to what its policy says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet
from tests.conftest import Connect
from tests.integration.conftest import Fairlead
from tests.support import own_tests, tree
from tests.support.waiting import until
from tests.support.web import served

pytestmark = pytest.mark.any_server

FOLDER = tree.ROOT / "examples/report_generator"
PATHS = os.pathsep.join([str(FOLDER), tree.SOURCES])
_RUNNING = """
    SELECT tenant, count(*) FROM fairlead.work_queue WHERE worker IS NOT NULL
    GROUP BY tenant ORDER BY tenant
"""
_AT_ONCE = """
    SELECT max((SELECT count(*) FROM fairlead.job_history o WHERE o.tenant = h.tenant
        AND o.claimed_at <= h.claimed_at AND o.finished_at > h.claimed_at))
    FROM fairlead.job_history h WHERE claimed_at IS NOT NULL
"""
_ENDED = "SELECT outcome, count(*) FROM fairlead.job_history GROUP BY outcome ORDER BY outcome"


def test_its_own_tests_pass(database_url: str) -> None:
    """As a reader runs them, in its folder."""
    assert 5 == own_tests.passed(FOLDER, database_url)


@pytest.mark.long
def test_the_one_with_django_passes_its_own_tests(database_url: str) -> None:
    """In a database that Django makes for them."""
    done = subprocess.run(
        [sys.executable, "manage.py", "test", "--noinput"],
        cwd=tree.ROOT / "examples/report_generator_django",
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url, "PYTHONPATH": tree.SOURCES},
        check=False,
        capture_output=True,
        text=True,
    )

    assert 0 == done.returncode, done.stderr
    assert "Ran 4 tests" in done.stderr


def test_its_schedule_is_stored_by_the_command_of_its_page(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Once; a repeat changes nothing."""
    (words,) = re.findall(
        r"^fairlead (schedules .*)$", tree.text(Path("examples/README.md")), re.MULTILINE
    )
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "fairlead", *words.split()],
            cwd=FOLDER,
            env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url, "PYTHONPATH": PATHS},
            check=True,
        )

    stored = "SELECT name, cron, kind, declared_by FROM fairlead.schedules"
    assert [("order_all", "0 3 1 * *", "order_all", "reports")] == db.execute(stored).fetchall()


@pytest.fixture
def client(
    fairlead: Fairlead,
    fleet: Fleet,
    db: Connection[TupleRow],
    database_url: str,
    tmp_path: Path,
) -> Iterator[httpx2.Client]:
    """Yield a client of its pages, with a fleet under its policy and two customers."""
    db.execute((FOLDER / "tables.sql").read_bytes())
    sales = "INSERT INTO sales VALUES ('a', 'Bern', '2026-10-01', 7), ('b', 'Ulm', now(), 7)"
    db.execute(sales)
    fairlead("policy", "apply", str(FOLDER / "policy.yaml"))
    fleet.scheduler()
    fleet.within = ("/usr/bin/env", f"PYTHONPATH={PATHS}")
    worker = fleet.start("worker", "fairlead_worker.main", "--app", "reports:tasks")
    until(lambda: worker.said("child.ready"), what="a worker", seconds=60)
    with served("web:app", FOLDER, database_url, log=tmp_path / "web.log") as made:
        yield made


def ordered(client: httpx2.Client, customer: str) -> httpx2.Response:
    """Order a report; return the page after that, or the refusal."""
    return client.post(f"/{customer}/reports", params={"month": "2026-10-01"})


def test_a_fleet_builds_two_reports_of_a_customer_at_a_time(
    client: httpx2.Client, db: Connection[TupleRow], connect: Connect
) -> None:
    """Beside those of another customer; one that is being built can be cancelled as well."""
    held = connect(autocommit=False)
    held.execute("LOCK TABLE sales")
    *_, page = [ordered(client, customer).text for customer in ("a", "b") * 5]
    until(lambda: [("a", 2), ("b", 2)] == db.execute(_RUNNING).fetchall(), what="four runs")
    built, *_, last = sorted(int(each) for each in re.findall(r"reports/(\d+)/cancel", page))

    for report in (last, built):
        page = client.post(f"/b/reports/{report}/cancel").text
    held.commit()

    assert (1, 4) == (page.count(": cancelled"), page.count("<button>Cancel"))
    done = [("cancelled", 2), ("succeeded", 8)]
    until(lambda: done == db.execute(_ENDED).fetchall(), what="all reports", seconds=30)
    page = client.get("/b/").text
    assert (2, 3) == (page.count(": cancelled"), page.count("<a href="))
    assert [(2,)] == db.execute(_AT_ONCE).fetchall()


@pytest.mark.long
def test_no_more_than_a_hundred_reports_of_a_customer_wait(
    client: httpx2.Client, db: Connection[TupleRow]
) -> None:
    """The page says so, and orders nothing; other customers go on."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)"
        " SELECT 'reports', 'a', 'report', '2999-01-01' FROM generate_series(1, 100)"
    )

    refused = until(
        lambda: found if (found := ordered(client, "a")).is_error else None,
        what="a refusal",
        seconds=30,
    )

    assert 429 == refused.status_code
    assert "of queue 'reports' is at its" in refused.text
    assert ordered(client, "b").is_success
