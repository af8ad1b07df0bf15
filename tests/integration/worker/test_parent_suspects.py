"""A death makes suspects of what may have caused it, and leaves the rest alone."""

import random
from collections import Counter

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.parent.crash_breaker import FAULTS_MAX
from fairlead_worker.parent.crash_history import TRUSTED_FROM
from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


def trusted_worker(fleet: Fleet, db: Connection[TupleRow], concurrency: int = 8) -> Program:
    """Start a worker on which many jobs of the kind `nap` of each tenant have ended."""
    worker = fleet.worker(concurrency=concurrency, more="--health-port 0")
    count = 3 * TRUSTED_FROM
    fleet.insert("nap", 0, count)
    dispatch_all(db)
    fleet.wait_until_done(20)
    ended = f'kind="nap",queue="default"}} {float(count)}'
    until(
        lambda: ended in page(listening_port(worker.pid), "metrics"),
        what="a report that the jobs have ended",
    )
    return worker


def errors(db: Connection[TupleRow], jobs: tuple[int, ...]) -> Counter[str]:
    """Count how attempts of these jobs ended without ending them."""
    rows = db.execute(
        "SELECT ended_as FROM fairlead.attempt_errors WHERE job_id = ANY (%s)", [list(jobs)]
    ).fetchall()
    return Counter(str(row[0]) for row in rows)


def test_neighbours_with_a_good_history_run_on_beside_others(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """They are released, at no cost but the count of a death, and run in no quarantine."""
    worker = trusted_worker(fleet, db)
    neighbours = fleet.insert("nap", 3000, 6)
    dispatch_all(db)
    fleet.await_starts(neighbours, 6)
    (poison,) = fleet.insert("poison", 0)
    dispatch_all(db)

    until(lambda: errors(db, (poison,)), what="the first death")
    until(lambda: errors(db, neighbours).total() == 6, what="the ends of the other attempts")
    state = db.execute(
        "SELECT DISTINCT suspect, crashes, attempts FROM fairlead.jobs WHERE id = ANY (%s)",
        [list(neighbours)],
    ).fetchall()
    fleet.wait_until_done(40)

    assert {"released": 6} == errors(db, neighbours)
    assert [(False, 1, 0)] == state
    assert {"crashed": 1 + 3} == errors(db, (poison,))
    assert worker.said("suspects.found")
    ends = {each.job: each.outcome for each in fleet.ended()}
    assert {poison: "failed", **dict.fromkeys(neighbours, "succeeded")}.items() <= ends.items()
    assert fleet.violations().is_empty, fleet.violations()


def test_a_job_with_a_good_history_is_a_suspect_at_the_second_death(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Nothing that keeps killing hides behind its kind."""
    worker = trusted_worker(fleet, db)
    jobs = fleet.insert("nap", 60_000, 2)
    dispatch_all(db)

    def die(ends: int) -> None:
        until(lambda: fleet.jobs_of(worker) >= {*jobs}, what="both running")
        worker.kill_child(random.Random(0))
        until(lambda: errors(db, jobs).total() == ends, what=f"{ends} ends")

    die(2)
    die(4)

    assert {"released": 2, "crashed": 2} == errors(db, jobs)


def test_a_kind_that_keeps_killing_runs_alone_from_its_first_attempt(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """After some of its jobs have killed, no further one meets a neighbour; it is told."""
    worker = trusted_worker(fleet, db)
    for _ in range(FAULTS_MAX):
        fleet.insert("poison", 0)
    dispatch_all(db)
    until(lambda: worker.said("crash_breaker.opened"), what="its opening", seconds=40)
    fleet.wait_until_done(60)
    neighbours = fleet.insert("held", 0, 3)
    dispatch_all(db)
    fleet.await_starts(neighbours, 3)

    bad = [fleet.insert("poison", 0)[0] for _ in range(3)]
    dispatch_all(db)
    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.jobs WHERE last_error LIKE 'put off: %'"
        ).fetchone(),
        what="one that is put off",
    )
    put_off = db.execute(
        "SELECT fairlead.explain(min(id)) FROM fairlead.jobs WHERE last_error LIKE 'put off: %'"
    ).fetchone()
    until(lambda: {*bad}.intersection(each.job for each in fleet.ended()), what="an end")
    meanwhile = errors(db, neighbours)
    first = next(each.job for each in fleet.ended() if each.job in bad)

    assert put_off is not None
    assert {"kind": "poison", "workers": 1} == put_off[0]["crash_breaker"]
    assert {} == meanwhile
    assert {"crashed": 3} == errors(db, (first,))
