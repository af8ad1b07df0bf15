"""Long jobs go on from their last checkpoint, whatever ended the run before."""

import signal
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.json import Json

from tests.chaos.fleet import Fleet, Program, send
from tests.support.children import child, ending
from tests.support.children import register as register_worker
from tests.support.dispatching import dispatch_all, insert
from tests.support.waiting import until
from tests.support.worker_children import children_of

pytestmark = pytest.mark.any_server

APP = "tests.support.life_app:tasks"
STEPS, STEP_SECONDS = 60, 0.05
_STORED = "SELECT checkpoint::int FROM fairlead.jobs WHERE id = %s"
_GIVEN_BACK = """
SELECT FROM fairlead.jobs WHERE checkpoint = '{"at": 2}' AND run_at IS NOT NULL
"""
_ENDED = "SELECT outcome, result FROM fairlead.job_history WHERE id = %s"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the file in which the handler notes its steps."""
    return tmp_path / "life.log"


def worker(fleet: Fleet, log: Path, name: str, more: str = "") -> Program:
    """Start a worker and wait until it claims."""
    fleet.environment = {**fleet.environment, "LIFE_LOG": str(log)}
    arguments = ["--app", APP, "--concurrency", "2", "--name", name, *more.split()]
    program = fleet.start(name, "fairlead_worker.main", *arguments)
    until(lambda: program.said("child.ready"), what=f"{name} being ready", seconds=60)
    return program


def begin(db: Connection[TupleRow]) -> int:
    """Insert a job of many steps; return its id when some are stored."""
    payload = Json({"steps": STEPS, "seconds": STEP_SECONDS})
    ((job,),) = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload) VALUES ('counts', %s) RETURNING id",
        [payload],
    ).fetchall()
    until(lambda: (stored(db, job) or 0) >= 5, what="five stored steps", seconds=30)
    return int(job)


def stored(db: Connection[TupleRow], job: int) -> int | None:
    """Return the last stored step."""
    row = db.execute(_STORED, [job]).fetchone()
    return None if row is None else row[0]


def begun_at(db: Connection[TupleRow], job: int) -> int:
    """Return from which step the last run has gone on, once the job has ended."""
    row = until(lambda: db.execute(_ENDED, [job]).fetchone(), what="its end", seconds=60)
    assert row is not None
    assert "succeeded" == row[0]
    return int(row[1])


def steps(log: Path) -> list[int]:
    """Return the steps that were begun, in their order."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [int(line.removeprefix("step ")) for line in lines if line.startswith("step ")]


def test_a_job_whose_process_is_killed_goes_on_from_its_last_checkpoint(
    fleet: Fleet, db: Connection[TupleRow], log: Path
) -> None:
    """With SIGKILL: at most the last half second is done again."""
    fleet.scheduler()
    running = worker(fleet, log, "worker")
    job = begin(db)

    send(signal.SIGKILL, children_of(running.pid))

    again = begun_at(db, job)
    assert 5 <= again < STEPS
    assert [*range(STEPS)] == sorted({*steps(log)})
    assert len(steps(log)) - STEPS <= 0.5 / STEP_SECONDS + 1


def test_a_job_whose_worker_is_lost_goes_on_in_another_one(
    fleet: Fleet, db: Connection[TupleRow], log: Path
) -> None:
    """When its lease is over; nobody could tell the database anything."""
    fleet.scheduler()
    lost = worker(fleet, log, "worker")
    job = begin(db)

    send(signal.SIGKILL, lost.process_tree())
    worker(fleet, log, "second")

    assert 5 <= begun_at(db, job) < STEPS
    assert len(steps(log)) - STEPS <= 0.5 / STEP_SECONDS + 1


def test_a_job_whose_worker_drains_goes_on_where_it_was(
    fleet: Fleet, db: Connection[TupleRow], log: Path
) -> None:
    """With SIGTERM: its last checkpoint is stored before it is handed back."""
    fleet.scheduler()
    drained = worker(fleet, log, "worker", "--grace-seconds 0.5")
    job = begin(db)

    assert 0 == drained.stop()
    done = stored(db, job)
    worker(fleet, log, "second")

    assert done == begun_at(db, job)
    assert [*range(STEPS)] == sorted({*steps(log)})
    assert len(steps(log)) <= STEPS + 1, "only the step that was cut short is done again"
    errors = db.execute("SELECT ended_as FROM fairlead.attempt_errors").fetchall()
    assert [("released",)] == errors


def test_a_failed_attempt_leaves_its_last_checkpoint_to_the_next_one(
    database_url: str, db: Connection[TupleRow], log: Path
) -> None:
    """Also one that it gave a moment before it failed, from a thread or another process."""
    environment = {"LIFE_LOG": str(log)}
    with child(database_url, register_worker(db), app=APP, environment=environment):
        job = insert(db, "fails_once")
        until(
            lambda: db.execute(_GIVEN_BACK).fetchone() is not None,
            what="the end of the first attempt",
        )
        db.execute("UPDATE fairlead.jobs SET run_at = NULL")
        dispatch_all(db)

        assert ("succeeded", {"at": 2}, None) == ending(db, job)


def test_a_checkpoint_after_its_jobs_completion_stops_nothing(
    database_url: str, db: Connection[TupleRow], log: Path
) -> None:
    """There is no job any more that could go on from it; the handler may still tidy up."""
    environment = {"LIFE_LOG": str(log)}
    with child(database_url, register_worker(db), app=APP, environment=environment):
        job = insert(db, "completes")

        assert ("succeeded", "early", None) == ending(db, job)
        until(lambda: "after completes" in log.read_text("utf-8"), what="the handler's end")

    assert ["before completes", "cancelled: False", "after completes"] == [
        line
        for line in log.read_text("utf-8").splitlines()
        if not line.startswith(("start", "stop"))
    ]
