"""What the controller's one statement says of workers, marks, loads, policy and queues."""

from collections.abc import Iterator

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.db.migrate import migrate
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.database import Database, Deposed, DrainMarks
from fairlead_autoscaler.decision.fleet import is_long, remaining_seconds
from tests.support import race
from tests.support.logins import LogIn, as_login


@pytest.fixture(params=[False, True], ids=["open", "isolated"])
def database(
    request: pytest.FixtureRequest,
    db: Connection[TupleRow],
    database_url: str,
    log_in: LogIn,
) -> Iterator[Database]:
    """Yield the session of a login with the role fairlead_autoscaler alone."""
    if request.param:
        migrate(db, rls=True)
    user = str(log_in("fairlead_autoscaler").info.user)
    opened = Database(DatabaseSettings(database_url=as_login(database_url, user)))
    yield opened
    opened.close()


def pod(db: Connection[TupleRow], uid: str) -> int:
    """Register a live worker of a pod; return its id."""
    me = race.register(db)
    db.execute(
        "UPDATE fairlead.worker_leases SET pod_uid = %s, slots = 5, slots_full = 20"
        " WHERE id = %s",
        [uid, me],
    )
    return me


def demand(db: Connection[TupleRow], *, mean: float, variance: float) -> None:
    """Store a demand in which the scheduler reports how long jobs take."""
    db.execute(
        "INSERT INTO fairlead.pool_demand (pool, epoch, at, became_runnable_total,"
        " work_slot_seconds, slots_useful, slots_allowed, scheduled_slot_seconds,"
        " service_mean, service_variance)"
        " VALUES ('default', 1, now(), 3, 4.5, 2, 8, '{1,2,3,4}', %s, %s)",
        [mean, variance],
    )


def test_the_snapshot_has_the_demand_that_the_scheduler_wrote(
    db: Connection[TupleRow], database: Database
) -> None:
    """Every column of `pool_demand`."""
    demand(db, mean=2.0, variance=1.0)
    (row,) = database.snapshot(known=None, asks_queues=False).demand.values()

    assert ("default", 3, 4.5, 2, 8) == (
        row.pool,
        row.became_runnable_total,
        row.work_slot_seconds,
        row.slots_useful,
        row.slots_allowed,
    )
    assert [1, 2, 3, 4] == list(row.scheduled_slot_seconds)
    assert row.oldest_runnable_at is None


@pytest.mark.parametrize(("estimate", "age"), [(60, 10), (60, 300), (1, 0), (1, 30)])
def test_what_pods_hold_is_estimated_as_the_decision_does(
    db: Connection[TupleRow], database: Database, estimate: float, age: float
) -> None:
    """By age, estimate and spread, for each pod together."""
    demand(db, mean=2.0, variance=1.0)
    me = pod(db, "uid-a")
    jobs = race.insert(db, count=3)
    race.dispatch(db, jobs, epoch=race.leading(db))
    race.claim(db, me)
    db.execute(
        "UPDATE fairlead.work_queue SET estimate_us = %s * 1000000,"
        " claimed_at = now() - %s * interval '1 s'",
        [estimate, age],
    )
    (load,) = database.snapshot(known=None, asks_queues=False).loads
    each = remaining_seconds(age=age, estimate=estimate, spread=0.25)

    assert ("uid-a", 3) == (load.pod_uid, load.jobs)
    assert 3 * is_long(each, 2.0) == load.long_jobs
    assert pytest.approx(each, abs=2) == load.longest_seconds
    assert pytest.approx(3 * each, abs=6) == load.slot_seconds


def test_a_marked_pod_is_seen_with_its_mark_until_it_is_removed(
    db: Connection[TupleRow], database: Database
) -> None:
    """A repeat moves the time on; only the newest epoch marks."""
    pod(db, "uid-a")
    epoch = database.begin_epoch("me")
    now = database.snapshot(known=None, asks_queues=False).now
    marks = DrainMarks(pool="default", pods=["uid-a"], fresh=["uid-a"], until=now)
    database.mark_drain(marks, epoch=epoch)
    database.mark_drain(marks, epoch=epoch)
    (worker,) = database.snapshot(known=None, asks_queues=False).workers

    assert now == worker.drain_until
    assert worker.drained_at is None
    assert 20 == worker.slots_full
    with pytest.raises(Deposed):
        database.mark_drain(marks, epoch=epoch - 1)
    database.unmark_drain(["uid-a"], epoch=epoch)
    (worker,) = database.snapshot(known=None, asks_queues=False).workers
    assert worker.drain_until is None


def test_the_policy_document_is_returned_once(
    db: Connection[TupleRow], database: Database
) -> None:
    """Its document comes again only when it is another one."""
    assert database.snapshot(known=None, asks_queues=False).policy is None
    policy_storage.store(db, "pools: [{name: a, queues: ['*']}]")
    first = database.snapshot(known=None, asks_queues=False).policy
    assert first is not None
    again = database.snapshot(known=first.version, asks_queues=False).policy
    assert again is not None

    assert first.document == "pools: [{name: a, queues: ['*']}]"
    assert again.document is None
    assert first.version == again.version


def test_queues_with_a_due_job_are_returned_when_requested(
    db: Connection[TupleRow], database: Database
) -> None:
    """Promoted or not; a job of the future does not count."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, kind, run_at) VALUES ('a', 'k', NULL),"
        " ('a', 'k', NULL), ('b', 'k', NULL), ('late', 'k', now() - interval '1 s'),"
        " ('future', 'k', now() + interval '1 hour')"
    )

    assert () == database.snapshot(known=None, asks_queues=False).queues
    assert {"a", "b", "late"} == set(database.snapshot(known=None, asks_queues=True).queues)
