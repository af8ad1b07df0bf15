"""Jobs that run at most once: whatever ends an attempt that may have begun ends the job."""

import signal
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.json import Json

from fairlead_worker.db.session import Session
from fairlead_worker.parent import worker_store
from tests.chaos.fleet import Fleet, Program
from tests.support.race import claim, dispatch, insert, leading, register
from tests.support.waiting import until

ONCE = "it runs at most once"
_INSERT = """
INSERT INTO fairlead.jobs (kind, max_attempts, payload) VALUES (%s, %s, %s) RETURNING id
"""
_ENDED = "SELECT outcome, error, max_attempts FROM fairlead.job_history WHERE id = %s"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file in which handlers note their starts."""
    return tmp_path / "starts"


def worker(fleet: Fleet, name: str = "worker") -> Program:
    """Start a worker and wait until it claims."""
    arguments = ["--app", "tests.support.once_app:tasks", "--concurrency", "2", "--name", name]
    program = fleet.start(name, "fairlead_worker.main", *arguments)
    until(lambda: program.said("child.ready"), what=f"{name} being ready", seconds=60)
    return program


def add(
    db: Connection[TupleRow], file: Path, kind: str, max_attempts: int | None = None
) -> int:
    """Insert a job."""
    values = [kind, max_attempts, Json({"file": str(file)})]
    ((job,),) = db.execute(_INSERT, values).fetchall()
    return int(job)


def end_of(db: Connection[TupleRow], job: int) -> TupleRow:
    """Return outcome, error and attempts of a job, once it has ended."""
    row = until(
        lambda: db.execute(_ENDED, [job]).fetchone(), what="the end of the job", seconds=60
    )
    assert row is not None
    return row


@pytest.mark.parametrize("kind", ["dies", "dies_apart"])
def test_a_crash_ends_the_job(
    fleet: Fleet, db: Connection[TupleRow], file: Path, kind: str
) -> None:
    """Also where its row says that it has five attempts: the handler knows better."""
    fleet.scheduler()
    worker(fleet)

    outcome, error, attempts = end_of(db, add(db, file, kind, max_attempts=5))

    assert ("failed", 1, 1) == (outcome, attempts, len(file.read_text().splitlines()))
    assert "SIGABRT" in error
    assert error.endswith(f"; {ONCE}")


def test_without_that_a_crash_uses_no_attempt(
    fleet: Fleet, db: Connection[TupleRow], file: Path
) -> None:
    """`max_attempts=1` alone says how often the handler may fail."""
    fleet.scheduler()
    worker(fleet)

    outcome, _, attempts = end_of(db, add(db, file, "dies_first"))

    assert ("succeeded", 2) == (outcome, len(file.read_text().splitlines()))
    assert attempts in {None, 1}


def test_the_loss_of_its_worker_ends_the_job(
    fleet: Fleet, db: Connection[TupleRow], file: Path
) -> None:
    """Another one lives, and does not get it."""
    fleet.scheduler()
    lost = worker(fleet)
    job = add(db, file, "lasts")
    until(file.exists, what="a start", seconds=30)
    worker(fleet, "other")

    lost.kill()

    outcome, error, _ = end_of(db, job)
    assert ("failed", 1) == (outcome, len(file.read_text().splitlines()))
    assert error.endswith(f"; {ONCE}")


def test_the_stop_of_its_worker_ends_the_job(
    fleet: Fleet, db: Connection[TupleRow], file: Path
) -> None:
    """A run that is cut short has begun."""
    fleet.scheduler()
    stopped = worker(fleet)
    job = add(db, file, "lasts")
    until(file.exists, what="a start", seconds=30)

    stopped.process.send_signal(signal.SIGTERM)
    until(lambda: stopped.said("worker.draining"), what="the stop", seconds=10)
    stopped.process.send_signal(signal.SIGTERM)

    outcome, error, _ = end_of(db, job)
    assert ("failed", f"its worker was stopped before it was done; {ONCE}") == (outcome, error)
    assert 1 == len(file.read_text().splitlines())


@pytest.mark.parametrize(
    ("ended_as", "once", "twice"),
    [
        ("failed", "failed", "scheduled"),
        ("crashed", "failed", "queued"),
        ("lost", "failed", "queued"),
        ("released", "failed", "queued"),
        ("snoozed", "scheduled", "scheduled"),
        ("returned", "queued", "queued"),
    ],
)
def test_what_the_end_of_an_attempt_means(
    db: Connection[TupleRow], ended_as: str, once: str, twice: str
) -> None:
    """By what the worker has announced that had it; what cannot have begun runs."""
    became: list[str] = []
    for marks in ([True], None):
        worker_id = register(db)
        announced = "SELECT fairlead.announce_kinds(%s, '{noop}', NULL, %s::boolean[])"
        db.execute(announced, [worker_id, marks])
        (job,) = dispatch(db, insert(db), epoch=leading(db))
        (lease,) = claim(db, worker_id)
        rows = db.execute(
            "SELECT became FROM fairlead.hand_back(ARRAY[%s], ARRAY[%s], ARRAY[%s], '{why}')",
            [job, lease.token, ended_as],
        )
        became += [row[0] for row in rows]
        db.execute("DELETE FROM fairlead.work_queue")
    assert [once, twice] == became


def test_a_job_that_is_to_be_cancelled_is_cancelled(db: Connection[TupleRow]) -> None:
    """Whoever asked for that learns that it has happened."""
    worker_id = register(db)
    db.execute("SELECT fairlead.announce_kinds(%s, '{noop}', NULL, '{true}')", [worker_id])
    (job,) = dispatch(db, insert(db), epoch=leading(db))
    (lease,) = claim(db, worker_id)
    db.execute("SELECT fairlead.cancel(%s)", [job])

    db.execute(
        "SELECT fairlead.hand_back(ARRAY[%s], ARRAY[%s], '{lost}', '{why}')", [job, lease.token]
    )

    assert [("cancelled",)] == db.execute("SELECT outcome FROM fairlead.job_history").fetchall()


def test_an_end_that_could_not_be_stored_is_no_return(db: Connection[TupleRow]) -> None:
    """A worker that stops while the row is locked gives back only what has not begun."""
    worker_id = register(db)
    db.execute("SELECT fairlead.announce_kinds(%s, '{noop}', NULL, '{true}')", [worker_id])
    dispatch(db, insert(db, count=2), epoch=leading(db))
    begun, waiting = claim(db, worker_id)

    session = Session(db, call_seconds=10.0)
    results = worker_store.deregister(session, worker_id, frozenset({begun.token}))

    states = {each.ending.job_id: each.state for each in results}
    assert {begun.job: "failed", waiting.job: "queued"} == states
