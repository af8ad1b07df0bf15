"""`fleet_concurrency` of handlers, with a scheduler and several workers."""

import signal

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import insert_many
from tests.support.waiting import until

SLOTS = 10
_INSERT = "INSERT INTO fairlead.jobs (tenant, kind) SELECT %s, %s FROM generate_series(1, %s)"
_ANNOUNCED = "SELECT count(*) FROM fairlead.worker_kinds"
_FINISHED = "SELECT count(*)::integer FROM fairlead.job_history WHERE kind = %s"
_AT_ONCE = """
SELECT max(beside) FROM (
    SELECT (SELECT count(*) FROM fairlead.job_history h
            WHERE h.kind = %s AND h.claimed_at <= e.claimed_at AND h.finished_at > e.claimed_at)
        AS beside
    FROM fairlead.job_history e WHERE e.kind = %s AND e.claimed_at > %s) e
"""
_WAITED = """
SELECT max(extract(epoch FROM claimed_at - created_at))::float8
FROM fairlead.job_history WHERE kind = 'quick'
"""
_HELD = "SELECT count(*)::integer FROM fairlead.work_queue"
_WORKERS_HOLDING = "SELECT DISTINCT worker FROM fairlead.work_queue WHERE worker IS NOT NULL"
_EPOCH = "1970-01-01"


def worker(fleet: Fleet, db: Connection[TupleRow], app: str) -> Program:
    """Start a worker, and wait until it can claim."""
    before = db.execute(_ANNOUNCED).fetchone()
    arguments = ["--app", f"tests.support.limited_app:{app}", "--concurrency", str(SLOTS)]
    started = fleet.start("worker", "fairlead_worker.main", *arguments)
    until(lambda: db.execute(_ANNOUNCED).fetchone() != before, what="a worker", seconds=60)
    return started


def finished(db: Connection[TupleRow], kind: str) -> int:
    """Return how many jobs of a kind are finished."""
    ((count,),) = db.execute(_FINISHED, [kind]).fetchall()
    return int(count)


def at_once(db: Connection[TupleRow], since: object = _EPOCH) -> int:
    """Return how many reports were held at once at most, of those claimed since then."""
    ((most,),) = db.execute(_AT_ONCE, ["report", "report", since]).fetchall()
    return int(most)


def test_no_more_run_at_once_in_the_fleet_than_the_handler_allows(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Three workers of ten slots each, and jobs that were there before them."""
    db.execute(_INSERT, ["a", "report", 20])
    db.execute(_INSERT, ["b", "report", 20])
    fleet.scheduler()
    for _ in range(3):
        worker(fleet, db, "three")

    until(lambda: finished(db, "report") == 40, what="all", seconds=60)

    assert 3 == at_once(db)


def test_quick_jobs_do_not_wait_behind_those_of_a_limited_kind(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Those of another tenant, and those of the same one; they waited up to 26 seconds once."""
    fleet.scheduler()
    worker(fleet, db, "one")
    db.execute(_INSERT, ["limited", "report", 40])
    until(lambda: finished(db, "report") >= 2, what="two reports", seconds=30)

    db.execute(_INSERT, ["other", "quick", 6])
    db.execute(_INSERT, ["limited", "quick", 6])

    until(lambda: finished(db, "quick") == 12, what="the quick jobs", seconds=30)
    ((waited,),) = db.execute(_WAITED).fetchall()
    assert waited < 2
    assert 1 == at_once(db)


def test_a_deploy_that_changes_the_number_never_exceeds_the_smaller_one(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """One holds beside three, and none, until its last worker has stopped."""
    fleet.scheduler()
    old = worker(fleet, db, "one")
    worker(fleet, db, "three")
    worker(fleet, db, "free")
    db.execute(_INSERT, ["a", "report", 400])
    until(lambda: finished(db, "report") >= 8, what="eight reports", seconds=30)
    assert 1 == at_once(db)

    old.process.send_signal(signal.SIGTERM)
    old.process.wait(30)
    ((stopped,),) = db.execute("SELECT now()").fetchall()

    until(lambda: finished(db, "report") >= 40, what="more of them", seconds=30)
    assert 3 == at_once(db, stopped)


def test_what_a_lost_worker_holds_counts_until_its_lease_is_over(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Its handlers may still run: another worker begins none before."""
    fleet.scheduler()
    lost = worker(fleet, db, "three")
    db.execute(_INSERT, ["a", "hang", 10])
    until(lambda: db.execute(_HELD).fetchone() == (3,), what="three", seconds=30)
    holding = until(lambda: db.execute(_WORKERS_HOLDING).fetchall(), what="a claim")

    worker(fleet, db, "three")

    with lost.frozen():
        db.execute(_INSERT, ["b", "quick", 1])
        until(lambda: finished(db, "quick") == 1, what="a quick job", seconds=30)
        assert holding == db.execute(_WORKERS_HOLDING).fetchall()
        others = until(
            lambda: {*db.execute(_WORKERS_HOLDING).fetchall()} - {*holding},
            what="the end of the lease",
            seconds=60,
        )
        assert 1 == len(others)
        until(lambda: db.execute(_HELD).fetchone() == (3,), what="three", seconds=30)


def test_a_worker_claims_after_a_while_though_no_leader_holds_to_its_limits(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """A leader of an older release never does, and without one queued jobs run."""
    insert_many(db, "quick", 3)
    alone = worker(fleet, db, "three")
    assert not alone.said("child.ready")

    until(lambda: finished(db, "quick") == 3, what="the queued jobs", seconds=30)

    assert alone.said("worker.limits_unknown")
