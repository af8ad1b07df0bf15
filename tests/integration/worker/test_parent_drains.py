"""A worker drains under its pod's mark, stores that, and works on when the mark is over."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.chaos import fleet as programs
from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.drains import POD, drained_at, lift, mark
from tests.support.health import listening_port, page
from tests.support.programs import forked
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet of one pod."""
    with programs.fleet(
        database_url, tmp_path, {"FAIRLEAD_POD_UID": POD}, starts=forked
    ) as made:
        yield made


def podded(fleet: Fleet, *, concurrency: int = 4, processes: int = 1) -> Program:
    """Start the pod's worker, and wait until it may claim."""
    more = f"--health-port 0 --processes {processes}"
    return fleet.worker(concurrency=concurrency, more=more)


def ready(worker: Program) -> bool:
    """Return whether a worker's page says that it is ready."""
    return page(listening_port(worker.pid), "readyz") == "ok"


def await_drained(db: Connection[TupleRow]) -> None:
    """Wait until it is stored that the pod is empty."""
    until(lambda: drained_at(db), what="an empty pod")


def running(db: Connection[TupleRow]) -> list[int]:
    """Return the jobs that are leased."""
    rows = db.execute("SELECT job_id FROM fairlead.work_queue WHERE worker IS NOT NULL")
    return [int(row[0]) for row in rows.fetchall()]


def test_an_idle_worker_is_empty_at_once_and_no_longer_ready(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """A NOTIFY with the pod's id renews at once, and what is not ready is deleted first."""
    slow = {"FAIRLEAD_WORKER_LEASE_SECONDS": "300", "FAIRLEAD_WORKER_RENEW_SECONDS": "60"}
    with programs.fleet(
        database_url, tmp_path, {"FAIRLEAD_POD_UID": POD, **slow}, starts=forked
    ) as fleet:
        worker = podded(fleet)
        before = ready(worker)

        mark(db)

        await_drained(db)
        until(lambda: not ready(worker), what="a worker that is not ready")
        assert before
        lift(db)
        until(lambda: ready(worker), what="a worker that is ready again")


def test_a_busy_worker_finishes_what_runs_and_is_ready_meanwhile(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """It claims nothing more, returns what has not started, and keeps what has."""
    worker = podded(fleet, concurrency=2)
    held = fleet.insert("held", 0, 2)
    dispatch_all(db)
    fleet.await_starts(held, 2)

    mark(db)
    until(lambda: worker.said("pod.emptying"), what="a worker that drains")
    later = fleet.insert("nap", 1, 3)
    dispatch_all(db)
    busy = (drained_at(db), ready(worker), {*running(db)})
    fleet.release()
    await_drained(db)

    assert (None, True, {*held}) == busy
    assert [] == running(db)
    assert {*held} == {each.job for each in fleet.ended()}
    assert later == fleet.unfinished()


def test_a_worker_whose_mark_is_taken_away_works_on(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Demand has come back before the pod was deleted: it costs no new pod."""
    worker = podded(fleet)
    mark(db)
    until(lambda: worker.said("pod.drained"), what="a drained worker")
    until(lambda: not ready(worker), what="a worker that is not ready")
    fleet.insert("nap", 1, 20)
    dispatch_all(db)

    lift(db)

    fleet.wait_until_done(20)
    until(lambda: ready(worker), what="a worker that is ready again")
    assert fleet.violations().is_empty, fleet.violations()


def test_a_mark_that_is_not_renewed_lapses(fleet: Fleet, db: Connection[TupleRow]) -> None:
    """An autoscaler that died keeps no pod from its work for longer than a mark holds."""
    worker = podded(fleet)
    mark(db)
    until(lambda: worker.said("pod.drained"), what="a drained worker")
    fleet.insert("nap", 1, 20)
    dispatch_all(db)

    mark(db, holds="100 ms", call=False)

    fleet.wait_until_done(20)

    until(lambda: ready(worker), what="a worker that is ready again")
    assert drained_at(db) is None


def test_a_mark_that_lapses_in_an_outage_is_over_after_it(
    own_server: Server, tmp_path: Path
) -> None:
    """By the database's clock, which goes on while it is away; the worker waits for it."""
    with programs.fleet(
        own_server.url, tmp_path, {"FAIRLEAD_POD_UID": POD}, starts=forked
    ) as fleet:
        worker = podded(fleet)
        with fleet.connect() as db:
            mark(db)
            until(lambda: worker.said("pod.drained"), what="a drained worker")
            fleet.insert("nap", 1, 20)
            dispatch_all(db)
            mark(db, holds="100 ms", call=False)
        own_server.kill()
        until(lambda: worker.said("lease.lost"), what="a lease that is lost")
        while_it_is_away = ready(worker)

        own_server.start()

        fleet.wait_until_done(30)
        until(lambda: ready(worker), what="a worker that is ready again")
        assert not while_it_is_away
        assert fleet.violations().is_empty, fleet.violations()


def test_a_mark_that_holds_through_an_outage_is_obeyed_after_it(
    own_server: Server, tmp_path: Path
) -> None:
    """A worker that lost its lease meanwhile comes back marked."""
    with programs.fleet(
        own_server.url, tmp_path, {"FAIRLEAD_POD_UID": POD}, starts=forked
    ) as fleet:
        worker = podded(fleet)
        with fleet.connect() as db:
            mark(db)
            until(lambda: worker.said("pod.drained"), what="a drained worker")
            jobs = fleet.insert("nap", 1, 20)
            dispatch_all(db)
        own_server.kill()
        until(lambda: worker.said("lease.lost"), what="a lease that is lost")

        own_server.start()

        with fleet.connect() as db:
            registered = "SELECT count(*) FROM fairlead.workers WHERE drained_at IS NOT NULL"
            until(
                lambda: db.execute(registered).fetchone() == (2,), what="a new row", seconds=30
            )
            assert jobs == fleet.unfinished()
            assert not ready(worker)
            lift(db)
        fleet.wait_until_done(20)


def test_a_mark_that_came_back_before_its_lapse_was_seen_is_obeyed_anew(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """What was stored under the former mark does not count under this one."""
    podded(fleet)
    mark(db)
    await_drained(db)

    with db.transaction():
        mark(db, holds="-1 second")
        mark(db)
    assert drained_at(db) is None

    await_drained(db)


def test_a_child_that_is_killed_under_a_mark_leaves_nothing_behind(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """What ran in it has crashed and is for others; the next child claims nothing either."""
    worker = podded(fleet, concurrency=2, processes=2)
    held = fleet.insert("held", 0, 4)
    dispatch_all(db)
    fleet.await_starts(held, 4)
    mark(db)
    until(lambda: worker.said("pod.emptying"), what="a worker that drains")

    worker.kill_child(random.Random(0))
    until(lambda: len(running(db)) == 2, what="two jobs that run on", seconds=20)
    crashed = {*held} - {*running(db)}
    while_two_run = drained_at(db)
    fleet.release()
    await_drained(db)

    assert while_two_run is None
    assert crashed == {*fleet.unfinished()}
    assert [(1, 0)] * 2 == [(each[1], each[2]) for each in fleet.attempts([*crashed]).values()]
    lift(db)
    fleet.wait_until_done(30)
    assert fleet.violations().is_empty, fleet.violations()


def test_suspect_jobs_end_under_a_mark_and_those_that_wait_go_back(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """They are the parent's: the child that has sent them away does not know of them."""
    one = {"FAIRLEAD_POD_UID": POD, "FAIRLEAD_QUARANTINE_PROCESSES": "1"}
    with programs.fleet(database_url, tmp_path, one, starts=forked) as fleet:
        podded(fleet, concurrency=2)
        held = fleet.insert("held", 0, 2)
        db.execute("UPDATE fairlead.jobs SET suspect = true")
        dispatch_all(db)
        fleet.await_starts(held, 1)
        until(lambda: len(running(db)) == 2, what="one that runs and one that waits")

        mark(db)

        until(lambda: len(running(db)) == 1, what="one that runs on")
        while_it_runs = drained_at(db)
        fleet.release()
        await_drained(db)
        assert while_it_runs is None
        assert 1 == len(fleet.ended()) == len(fleet.unfinished())
        lift(db)
        fleet.wait_until_done(20)
        assert fleet.violations().is_empty, fleet.violations()


def test_a_container_that_restarts_in_a_marked_pod_stays_empty(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """It inherits the mark, and is not ready before that is over."""
    first = podded(fleet)
    mark(db)
    await_drained(db)
    first.kill()
    fleet.insert("nap", 1, 5)
    dispatch_all(db)
    arguments = ["--app", "tests.chaos.app:tasks", "--health-port", "0"]

    second = fleet.start("second", "fairlead_worker.main", *arguments)
    until(lambda: second.said("pod.drained"), what="a drained worker", seconds=20)

    assert not ready(second)
    assert () == fleet.ended()
    lift(db)
    fleet.wait_until_done(20)
    assert ready(second)
