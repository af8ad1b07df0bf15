"""What a handler says of its jobs' attempts and waits, on real workers."""

from collections.abc import Iterator

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet
from tests.support.children import RunningChild, child, register
from tests.support.dispatching import insert
from tests.support.waiting import until

APP = "tests.support.retrying_app:tasks"
_WAIT = """
SELECT extract(epoch FROM run_at - now())::float8 / 3600
FROM fairlead.jobs WHERE id = %s AND attempts = 1
"""


@pytest.fixture
def running(database_url: str, db: Connection[TupleRow]) -> Iterator[RunningChild]:
    """Yield a child whose handlers always fail."""
    with child(database_url, register(db), app=APP) as started:
        yield started


def hours(db: Connection[TupleRow], kind: str) -> float:
    """Return how long a job of this kind waits after its first attempt."""
    job_id = insert(db, kind)
    row = until(lambda: db.execute(_WAIT, [job_id]).fetchone(), what="the first attempt")
    return float(row[0])


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [("in_turn", 1), ("in_thread", 1), ("apart", 1), ("late", 1), ("its_own", 2)],
)
def test_a_handlers_own_backoff_is_what_its_jobs_wait(
    db: Connection[TupleRow], kind: str, expected: int
) -> None:
    """Wherever it runs and however it fails; `Retry` says better."""
    assert expected - 0.1 < hours(db, kind) <= expected


def test_a_backoff_that_raises_is_logged_and_fails_nothing(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """The job waits as one whose handler says nothing."""
    assert hours(db, "broken") < 4 / 3600
    until(lambda: any("backoff.failed" in line for line in running.log), what="the log")


def test_a_kinds_attempts_are_what_its_workers_announce(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Of a job that plain SQL inserts, whose row says nothing."""
    fleet.scheduler()
    worker = fleet.start("worker", "fairlead_worker.main", "--app", APP, "--concurrency", "2")
    until(lambda: worker.said("worker.registered"), what="a worker", seconds=60)

    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('thrice')")

    ended = "SELECT attempt, max_attempts, outcome, error FROM fairlead.job_history"
    row = until(lambda: db.execute(ended).fetchone(), what="the end", seconds=30)
    assert (3, 3, "failed") == row[:3]
    assert str(row[3]).startswith("Retry: 3 of 3")
