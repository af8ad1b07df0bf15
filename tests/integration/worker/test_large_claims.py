"""A claim that no process survives is made smaller, and the job that is to blame is found."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.waiting import until

FITS_BYTES = 100_000
"""How much text a process survives in one answer."""


def hungry_worker(fleet: Fleet, how: str = "killed") -> Program:
    """Start a worker that may claim; larger answers than fit are refused, or it is killed."""
    fleet.environment = {"HUNGRY_APP_BYTES": str(FITS_BYTES), "HUNGRY_APP_HOW": how}
    worker = fleet.start(
        "worker",
        "fairlead_worker.main",
        *("--app", "tests.support.hungry_app:tasks", "--concurrency", "50"),
    )
    until(lambda: worker.said("child.ready"), what="its being ready", seconds=60)
    return worker


def insert(db: Connection[TupleRow], tenant: str, count: int, payload_bytes: int) -> list[int]:
    """Insert jobs whose payloads have so many bytes; return their ids."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, payload)"
        " SELECT 'eats', %s, to_jsonb(repeat('x', %s)) FROM generate_series(1, %s)"
        " RETURNING id",
        [tenant, payload_bytes, count],
    ).fetchall()
    return [int(row[0]) for row in rows]


@pytest.mark.parametrize("how", ["killed", "refused"])
def test_jobs_that_fit_one_by_one_are_claimed_so_that_they_fit(
    fleet: Fleet, db: Connection[TupleRow], how: str
) -> None:
    """None of them is to blame, and other tenants' jobs run as well."""
    worker = hungry_worker(fleet, how)

    insert(db, "large", 30, FITS_BYTES // 5)
    insert(db, "small", 20, 10)
    dispatch_all(db)
    fleet.wait_until_done(60)

    assert {"succeeded"} == {each.outcome for each in fleet.ended()}
    assert [(0,)] == db.execute("SELECT max(crashes) FROM fairlead.job_history").fetchall()
    assert [] == db.execute("TABLE fairlead.attempt_errors").fetchall()
    assert worker.said("claims.bounded")


def test_a_job_that_no_process_can_hold_is_to_blame_alone(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """It has crashed whenever it was claimed alone, and is quarantined as if it had begun."""
    hungry_worker(fleet)

    (large,) = insert(db, "large", 1, 2 * FITS_BYTES)
    insert(db, "small", 7, 10)
    dispatch_all(db)
    fleet.wait_until_done(90)

    ended = db.execute(
        "SELECT id = %s, outcome, max(crashes), count(*) FROM fairlead.job_history"
        " GROUP BY 1, 2 ORDER BY 1",
        [large],
    ).fetchall()
    assert [(False, "succeeded", 0, 7), (True, "failed", 4, 1)] == ended
    errors = db.execute("SELECT DISTINCT job_id, ended_as FROM fairlead.attempt_errors")
    assert [(large, "crashed")] == errors.fetchall()
    (error,) = db.execute(
        "SELECT error FROM fairlead.job_history WHERE outcome = 'failed'"
    ).fetchone() or ("",)
    assert str(error).startswith("quarantined: ")
