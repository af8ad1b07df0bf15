"""The parent cleans up after a child's death at once, and only guilty jobs are punished."""

import os
import signal
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program, fleet
from tests.support.dispatching import dispatch_all
from tests.support.programs import forked
from tests.support.waiting import until
from tests.support.worker_children import children_of

pytestmark = pytest.mark.any_server


def test_what_ran_in_a_child_that_died_has_crashed_and_runs_in_quarantine_next(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """A death is a crash of the jobs that had started in that child; they are suspect."""
    worker = fleet.worker(concurrency=2)
    (job_id,) = fleet.insert("nap", 1500)
    dispatch_all(db)
    until(lambda: fleet.started(worker.process_tree()), what="a start")

    kill_child(worker)
    fleet.wait_until_done(20)

    assert [("crashed", "the process that ran it was killed by SIGKILL")] == errors(db, job_id)
    pids = [each.pid for each in fleet.events() if each.event == "started"]
    assert 2 == len(pids) == len({*pids})
    row = db.execute("SELECT crashes, attempt FROM fairlead.job_history").fetchone()
    assert (1, 1) == row


def test_what_a_dead_child_had_not_started_is_returned_unpunished(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Jobs that only waited in a child that died are not to blame for its death."""
    worker = fleet.worker(concurrency=1)
    (running,) = fleet.insert("nap", 2000)
    dispatch_all(db)
    until(lambda: fleet.started(worker.process_tree()), what="a start")
    (waiting,) = fleet.insert("nap", 10)
    lease_as_prefetch(db, waiting)

    kill_child(worker)
    fleet.wait_until_done(20)

    assert ["crashed"] == [how for how, _ in errors(db, running)]
    assert [] == errors(db, waiting)


def test_a_job_that_kills_its_process_is_quarantined_while_its_neighbours_run(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """After one crash it runs in quarantine; three deaths there fail it."""
    worker = fleet.worker(concurrency=4)
    neighbours = fleet.insert("held", 0, 3)
    dispatch_all(db)
    until(lambda: len(fleet.started(worker.process_tree())) == 3, what="three starts")
    (poison,) = fleet.insert("poison", 0)
    dispatch_all(db)

    until(fleet.ended, what="the end of the poison job", seconds=40)
    fleet.release()
    fleet.wait_until_done(20)

    outcomes = {each.job: each.outcome for each in fleet.ended()}
    assert {poison: "failed", **dict.fromkeys(neighbours, "succeeded")} == outcomes
    assert ["crashed"] * (1 + 3) == [how for how, _ in errors(db, poison)]
    assert "quarantined" in error_of(db, poison)


def test_a_death_does_not_keep_a_worker_from_other_jobs(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """However long its neighbours run: they wait for quarantine processes without slots."""
    worker = fleet.worker(concurrency=8)
    neighbours = fleet.insert("held", 0, 8)
    dispatch_all(db)
    until(lambda: len(fleet.started(worker.process_tree())) == 8, what="eight starts")

    kill_child(worker)
    fresh = fleet.insert("nap", 1, 20)
    dispatch_all(db)
    until(lambda: len(fleet.ended()) == 20, what="the ends of the others", seconds=20)
    unfinished = fleet.unfinished()
    fleet.release()
    fleet.wait_until_done(30)

    assert neighbours == unfinished
    assert fleet.violations().is_empty, fleet.violations()
    assert ["crashed"] * 8 == [how for each in neighbours for how, _ in errors(db, each)]
    assert [] == [how for each in fresh for how, _ in errors(db, each)]


def test_a_handler_that_ignores_its_deadline_is_killed_when_its_neighbours_have_ended(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """It failed by timeout, which uses an attempt; a short job beside it ends in peace."""
    worker = fleet.worker(concurrency=2)
    (deaf,), (nap,) = insert_beside_deaf(fleet, db, "nap", 4000)
    until(lambda: len(fleet.started(worker.process_tree())) == 2, what="two starts")
    until(lambda: worker.said("child.overran"), what="its ignoring the deadline")
    fresh = fleet.insert("held", 0, 2)
    dispatch_all(db)
    fleet.await_starts(fresh, 2)
    fleet.release()
    fleet.wait_until_done(30)

    outcomes = {each.job: each.outcome for each in fleet.ended()}
    assert {deaf: "failed", **dict.fromkeys((nap, *fresh), "succeeded")} == outcomes
    assert error_of(db, deaf).startswith("timeout: ")
    assert [] == errors(db, nap)
    assert fleet.violations().is_empty, fleet.violations()


def test_a_long_job_beside_one_that_ignores_its_deadline_is_released_in_the_end(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """The process lives on for some seconds only; that costs the neighbour no attempt."""
    worker = fleet.worker(concurrency=2)
    (deaf,), (long,) = insert_beside_deaf(fleet, db, "held", 0)
    until(lambda: len(fleet.started(worker.process_tree())) == 2, what="two starts")

    until(lambda: errors(db, long), what="its release", seconds=30)
    fleet.release()
    fleet.wait_until_done(30)

    outcomes = {each.job: each.outcome for each in fleet.ended()}
    assert {deaf: "failed", long: "succeeded"} == outcomes
    assert ["released"] == [how for how, _ in errors(db, long)]


def insert_beside_deaf(
    fleet: Fleet, db: Connection[TupleRow], kind: str, milliseconds: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Insert and dispatch a job that ignores its deadline of a second, and another one."""
    deaf, beside = fleet.insert("deaf", 60_000), fleet.insert(kind, milliseconds)
    db.execute(
        "UPDATE fairlead.jobs SET timeout = '1 s', max_attempts = 1 WHERE id = %s", [*deaf]
    )
    dispatch_all(db)
    return deaf, beside


def test_a_cancelled_handler_that_ignores_it_ends_as_cancelled(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """One rule serves deadlines and cancellations: a handler stops, or is killed."""
    worker = fleet.worker(concurrency=2)
    (deaf,) = fleet.insert("deaf", 60_000)
    dispatch_all(db)
    until(lambda: fleet.started(worker.process_tree()), what="a start")

    db.execute("SELECT fairlead.cancel(%s)", [deaf])
    fleet.wait_until_done(20)

    assert ["cancelled"] == [each.outcome for each in fleet.ended()]


def test_a_restarted_container_takes_its_jobs_back_before_its_lease_ends(
    database_url: str, tmp_path: Path
) -> None:
    """A worker that starts under a dead predecessor's name releases its jobs at once."""
    long_lease = {"FAIRLEAD_WORKER_LEASE_SECONDS": "600"}
    with fleet(database_url, tmp_path, long_lease, starts=forked) as made, made.connect() as db:
        former = made.worker("pod")
        (job_id,) = made.insert("nap", 1000)
        dispatch_all(db)
        until(lambda: made.started(former.process_tree()), what="a start")
        former.kill()

        made.worker("pod")
        made.wait_until_done(20)

        assert made.violations().is_empty, made.violations()
        assert [("lost", "its worker was lost")] == errors(db, job_id)


def test_the_second_death_is_replaced_by_a_child_that_is_there_already(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Its slots are not missed for as long as the application loads."""
    worker = fleet.worker(concurrency=2)
    (child,) = children_of(worker.pid)
    os.kill(child, signal.SIGUSR1)
    until(
        lambda: child not in (there := children_of(worker.pid)) and len(there) == 2,
        what="a replacement, and a spare",
    )
    second, spare = sorted(children_of(worker.pid))

    os.kill(second, signal.SIGUSR1)
    (job,) = fleet.insert("nap", 1)
    dispatch_all(db)
    fleet.wait_until_done(20)

    assert [(job, spare)] == [
        (each.job, each.pid) for each in fleet.events() if each.event == "started"
    ]


def kill_child(worker: Program) -> None:
    """End the worker's only child with SIGKILL."""
    (child,) = children_of(worker.pid)
    os.kill(child, signal.SIGKILL)


def errors(db: Connection[TupleRow], job_id: int) -> list[tuple[str, str]]:
    """Return how a job's attempts ended without ending it, and with which errors."""
    rows = db.execute(
        "SELECT ended_as, error FROM fairlead.attempt_errors WHERE job_id = %s ORDER BY at",
        [job_id],
    ).fetchall()
    return [(str(row[0]), str(row[1])) for row in rows]


def error_of(db: Connection[TupleRow], job_id: int) -> str:
    """Return the error that a finished job ended with."""
    row = db.execute(
        "SELECT error FROM fairlead.job_history WHERE id = %s", [job_id]
    ).fetchone()
    assert row is not None
    return str(row[0])


def lease_as_prefetch(db: Connection[TupleRow], job_id: int) -> None:
    """Lease a job to the only worker, as a claim does whose child has not read the answer."""
    dispatch_all(db, wake=False)
    db.execute(
        "UPDATE fairlead.work_queue SET token = nextval('fairlead.tokens'), claimed_at = now(),"
        " deadline = now() + timeout,"
        " worker = (SELECT id FROM fairlead.worker_leases WHERE dead_at IS NULL)"
        " WHERE job_id = %s AND worker IS NULL",
        [job_id],
    )
