"""Handlers that return and leave their process broken: it is found and replaced."""

from collections import Counter
from collections.abc import Sequence

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.parent.crash_breaker import FAULTS_MAX
from tests.chaos.fleet import Fleet, Program
from tests.conftest import Connect
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.waiting import until


def breakable(fleet: Fleet, concurrency: int = 4) -> Program:
    """Start a worker whose handlers break its processes."""
    more = "--app tests.support.breaking_app:tasks --health-port 0"
    return fleet.worker(concurrency=concurrency, more=more)


def cut_off(fleet: Fleet, db: Connection[TupleRow], kind: str) -> None:
    """Have a handler of this kind break its process, and take the process's connections."""
    (breaking,) = fleet.insert(kind, 0)
    dispatch_all(db)
    until(lambda: breaking not in fleet.unfinished(), what="the end of what breaks it")
    for connections in ("fairlead worker endings", "fairlead worker claims"):
        fleet.terminate(connections)


def starts(fleet: Fleet, jobs: Sequence[int]) -> list[int]:
    """Return how often each of these jobs has started."""
    counts = Counter(each.job for each in fleet.events() if each.event == "started")
    return [counts[each] for each in jobs]


@pytest.mark.parametrize("kind", ["leaks", "lowers"])
def test_a_child_that_can_connect_no_more_is_replaced(
    fleet: Fleet, db: Connection[TupleRow], kind: str
) -> None:
    """It lives, overruns nothing and would never run anything again; its parent can connect."""
    worker = breakable(fleet)
    cut_off(fleet, db, kind)
    later = fleet.insert("quick", 0)
    dispatch_all(db)
    until(lambda: worker.said("child.cut_off"), what="the end of the child", seconds=40)
    fleet.wait_until_done(30)

    assert 1 == len([each for each in fleet.ended() if each.job in later])
    until(lambda: page(listening_port(worker.pid), "readyz") == "ok", what="readiness")


def test_what_had_ended_in_a_child_that_was_cut_off_does_not_run_again(
    fleet: Fleet, db: Connection[TupleRow], connect: Connect
) -> None:
    """The parent stores plain successes for it, and one that is locked when it is free."""
    breakable(fleet)
    jobs = fleet.insert("held", 0, 3)
    dispatch_all(db)
    fleet.await_starts(jobs, 3)
    cut_off(fleet, db, "lowers")
    application = connect(autocommit=False)
    application.execute("SELECT FROM fairlead.jobs WHERE id = %s FOR UPDATE", [jobs[0]])
    fleet.release()
    until(lambda: fleet.unfinished() == jobs[:1], what="the end of the others", seconds=40)
    application.rollback()
    fleet.wait_until_done(20)

    assert [1, 1, 1] == starts(fleet, jobs)
    assert {"succeeded"} == {each.outcome for each in fleet.ended()}


@pytest.mark.parametrize(
    ("kind", "count", "outcome"),
    [("closes", 1, "succeeded"), ("closes_with_result", 1 + 3, "failed")],
)
def test_a_job_that_returns_and_breaks_its_process_does_not_run_without_end(
    fleet: Fleet, db: Connection[TupleRow], kind: str, count: int, outcome: str
) -> None:
    """Its plain success is stored by the parent; a result is lost, which counts as a crash."""
    breakable(fleet)
    jobs = fleet.insert(kind, 0)
    dispatch_all(db)
    fleet.wait_until_done(60)

    assert [outcome] == [each.outcome for each in fleet.ended()]
    assert [count] == starts(fleet, jobs)


def test_a_result_that_is_lost_beside_others_counts_as_a_crash_of_its_job(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """And not of the neighbour alone that ran on in the process."""
    breakable(fleet)
    (neighbour,) = fleet.insert("held", 0)
    dispatch_all(db)
    fleet.await_starts([neighbour], 1)
    (job,) = fleet.insert("closes_with_result", 0)
    dispatch_all(db)
    until(lambda: job not in fleet.unfinished(), what="its end", seconds=60)
    fleet.release()
    fleet.wait_until_done(30)

    ended = {each.job: each.outcome for each in fleet.ended()}
    assert {neighbour: "succeeded", job: "failed"} == ended
    assert [1 + 3] == starts(fleet, [job])


def test_a_kind_that_returns_and_breaks_its_process_runs_alone(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Each death costs its neighbours their process, whether or not its job had ended."""
    worker = breakable(fleet)
    for _ in range(FAULTS_MAX):
        fleet.insert("closes", 0)
        dispatch_all(db)
        fleet.wait_until_done(30)

    until(lambda: worker.said("crash_breaker.opened"), what="an open breaker")


def test_a_job_that_closes_the_descriptors_of_its_own_process_has_crashed_there(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """The child need not wait for its timeout to know that nothing more is to come."""
    breakable(fleet)
    (job,) = fleet.insert("closes_apart", 0)
    dispatch_all(db)

    how = until(
        lambda: db.execute(
            "SELECT ended_as, error FROM fairlead.attempt_errors WHERE job_id = %s", [job]
        ).fetchone(),
        what="the end of an attempt",
        seconds=20,
    )

    assert ("crashed", "the process of its handler exited with code 1") == how
