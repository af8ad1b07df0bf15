"""A process that has to be killed because one handler blocks it is paid for by that one."""

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.children import APP
from tests.support.dispatching import dispatch_all
from tests.support.waiting import until


def worker_of(fleet: Fleet) -> Program:
    """Start a worker with the handlers of the child's tests."""
    worker = fleet.start("worker", "fairlead_worker.main", "--app", APP, "--concurrency", "4")
    until(lambda: worker.said("child.ready"), what="its being ready", seconds=60)
    return worker


def run_beside_neighbours(fleet: Fleet, db: Connection[TupleRow], kind: str) -> int:
    """Run a job that never ends beside two with shorter timeouts; return its id."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, timeout, max_attempts)"
        " VALUES ('naps', '0.4', '0.6 s', 1), ('naps', '0.4', '0.6 s', 1),"
        " (%s, '600', '2 s', 1) RETURNING id",
        [kind],
    ).fetchall()
    dispatch_all(db)
    fleet.wait_until_done(60)
    return int(rows[-1][0])


def endings(db: Connection[TupleRow], blocker: int) -> list[tuple[object, ...]]:
    """Return how the blocker and the others ended, and at which of their attempts."""
    return db.execute(
        "SELECT id = %s, outcome, attempt, count(*) FROM fairlead.job_history"
        " GROUP BY 1, 2, 3 ORDER BY 1",
        [blocker],
    ).fetchall()


def test_only_the_blocker_fails_when_its_process_is_killed(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Its neighbours' timeouts are over before its own is; they could not go on."""
    worker = worker_of(fleet)

    blocker = run_beside_neighbours(fleet, db, "blocks")

    assert [(False, "succeeded", 1, 2), (True, "failed", 1, 1)] == endings(db, blocker)
    (error,) = db.execute(
        "SELECT error FROM fairlead.job_history WHERE id = %s", [blocker]
    ).fetchone() or ("",)
    assert str(error).startswith("timeout: it kept the event loop for 1 s after its deadline")
    ends = db.execute(
        "SELECT DISTINCT ended_as FROM fairlead.attempt_errors WHERE job_id <> %s", [blocker]
    )
    assert [("released",)] == ends.fetchall()
    assert worker.said("loop.blocked")


def test_a_handler_that_keeps_the_interpreter_is_found_alone(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Nobody in its process can say who it is, and no neighbour fails."""
    worker = worker_of(fleet)

    hog = run_beside_neighbours(fleet, db, "hogs")

    assert [(False, "succeeded", 1, 2), (True, "failed", 1, 1)] == endings(db, hog)
    assert worker.said("child.stuck")
