"""Jobs whose kind a worker has no handler for, as during a rolling deploy."""

import signal
from time import monotonic

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all, insert, insert_many
from tests.support.doctoring import Examine
from tests.support.health import listening_port, page
from tests.support.waiting import until

_APP = "tests.support.deployed_app:"
_INSERT = "INSERT INTO fairlead.jobs (tenant, kind) SELECT %s, %s FROM generate_series(1, %s)"
_OUTCOMES = """
SELECT kind, outcome, attempt, count(*)::integer FROM fairlead.job_history GROUP BY 1, 2, 3
"""
_ABSENT = """
SELECT worker FROM fairlead.register_worker(
    name => 'absent', pool => 'default', slots => 4, lease_seconds => 3600)
"""
_QUEUED = """
SELECT 1 FROM fairlead.work_queue q JOIN fairlead.jobs j ON j.id = q.job_id
WHERE j.kind = 'coming' AND q.worker IS NULL HAVING count(*) >= 4
"""
_ANNOUNCED = "SELECT max(worker) FROM fairlead.worker_kinds"
_LEFT = "SELECT count(*)::integer FROM fairlead.jobs"
_WAITING = """
SELECT j.attempts, j.last_error, extract(epoch FROM j.run_at - now())::float8
FROM fairlead.jobs j WHERE j.id = %s AND j.run_at IS NOT NULL
"""


def worker(fleet: Fleet, db: Connection[TupleRow], app: str) -> Program:
    """Start a worker, and wait until it can claim."""
    before = db.execute(_ANNOUNCED).fetchone()
    arguments = ["--app", _APP + app, "--concurrency", "4"]
    started = fleet.start("worker", "fairlead_worker.main", *arguments)
    until(lambda: db.execute(_ANNOUNCED).fetchone() != before, what="a worker", seconds=60)
    return started


def left(db: Connection[TupleRow]) -> int:
    """Return how many jobs have not ended."""
    ((count,),) = db.execute(_LEFT).fetchall()
    return int(count)


def explanation(db: Connection[TupleRow], job: int) -> dict[str, object] | None:
    """Return what is said of a job that waits for a handler; None while a worker has it."""
    ((answer,),) = db.execute("SELECT fairlead.explain(%s)", [job]).fetchall()
    return answer if answer.get("blocked_by") == "no handler" else None


def test_no_job_fails_while_old_and_new_workers_run_side_by_side(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Two old workers, and then new ones in their places; jobs come all the while."""
    fleet.scheduler()
    old = [worker(fleet, db, "before") for _ in range(2)]

    def come(*kinds: str) -> None:
        for kind in kinds:
            db.execute(_INSERT, ["a", kind, 100])
            db.execute(_INSERT, ["b", kind, 100])

    come("lasting", "coming", "former")
    for each in old:
        worker(fleet, db, "after")
        come("lasting", "coming")
        each.process.send_signal(signal.SIGTERM)
        each.process.wait(30)
        come("lasting", "coming")
    until(lambda: not left(db), what="the end of all", seconds=60)

    outcomes = db.execute(_OUTCOMES).fetchall()
    assert {("lasting", "succeeded", 1, 1000), ("coming", "succeeded", 1, 1000)} <= {*outcomes}
    assert {"succeeded"} == {row[1] for row in outcomes}
    assert {1} == {row[2] for row in outcomes}


def test_jobs_of_a_kind_that_only_one_worker_has_do_not_hold_up_the_others(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """They stay for that worker, and another one takes no more of them."""
    fleet.scheduler()
    worker(fleet, db, "before")
    (absent,) = db.execute(_ABSENT).fetchone() or (None,)
    db.execute("SELECT fairlead.announce_kinds(%s, '{coming}')", [absent])
    db.execute(_INSERT, ["a", "coming", 40])
    until(lambda: db.execute(_QUEUED).fetchone(), what="jobs that wait for the absent worker")
    began = monotonic()

    db.execute(_INSERT, ["b", "former", 400])

    until(lambda: left(db) <= 40, what="the jobs of the other kind", seconds=20)
    assert monotonic() - began < 5
    worker(fleet, db, "after")
    until(lambda: not left(db), what="the end of all", seconds=60)
    assert {("coming", "succeeded", 1, 40), ("former", "succeeded", 1, 400)} == {
        *db.execute(_OUTCOMES).fetchall()
    }


@pytest.mark.usefixtures("running")
def test_a_job_of_a_kind_that_no_worker_has_waits_and_says_so(
    db: Connection[TupleRow],
) -> None:
    """It uses no attempt, and the longer it has waited the later it is looked at again."""
    job_id = insert(db, "ecko")
    row = until(lambda: db.execute(_WAITING, [job_id]).fetchone(), what="the wait")
    ((old,),) = db.execute(
        "INSERT INTO fairlead.jobs (kind, created_at) VALUES ('ecko', now() - interval '1 day')"
        " RETURNING id"
    ).fetchall()
    dispatch_all(db)
    late = until(lambda: db.execute(_WAITING, [old]).fetchone(), what="the later wait")

    assert 0 == row[0]
    assert str(row[1]).startswith(
        "unhandled: no worker of its pool has a handler for kind 'ecko'; "
        "this application has: asks, "
    )
    assert 0 < row[2] < 2
    assert 80 < late[2] < 160


@pytest.mark.usefixtures("running")
def test_a_lane_goes_on_behind_jobs_that_no_worker_has_a_handler_for(
    db: Connection[TupleRow],
) -> None:
    """They leave the queue."""
    insert_many(db, "ecko", 50)
    jobs = insert_many(db, "echo", 5)

    ended = "SELECT count(*)::integer FROM fairlead.job_history WHERE outcome = 'succeeded'"
    until(lambda: db.execute(ended).fetchone() == (len(jobs),), what="the others")


def test_a_kind_that_no_worker_has_is_named(
    fleet: Fleet,
    db: Connection[TupleRow],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By doctor, by explain, by a metric and by the worker's log, until a worker has it."""
    examine = Examine(monkeypatch, capsys)
    scheduler = fleet.start("scheduler", "fairlead_scheduler.main", "--health-port", "0")
    old = worker(fleet, db, "before")
    db.execute(_INSERT, ["a", "coming", 3])
    waiting = "SELECT min(id) FROM fairlead.jobs WHERE run_at IS NOT NULL HAVING count(*) = 3"
    (first,) = until(lambda: db.execute(waiting).fetchone(), what="three jobs that wait")

    def series() -> str:
        return page(listening_port(scheduler.pid), "metrics")

    shown = 'fairlead_unhandled_jobs{kind="coming"} 3.0'
    until(lambda: shown in series(), what="the metric", seconds=30)
    (found,) = until(lambda: examine(database_url).of("kind"), what="the doctor's word")
    explained = until(lambda: explanation(db, first), what="an answer")
    assert "of kind coming wait" in str(found["what"])
    assert "had a handler for its kind, 'coming'" in str(explained["sentence"])
    assert old.said("kind.unhandled")

    worker(fleet, db, "after")
    until(lambda: not left(db), what="the end of all", seconds=60)
    until(lambda: "fairlead_unhandled_jobs{" not in series(), what="silence", seconds=30)
    assert () == examine(database_url).of("kind")
