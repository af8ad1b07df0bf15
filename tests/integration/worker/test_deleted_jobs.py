"""Rows that somebody deletes from `jobs` by hand hold no slot for long."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.db.statements import load
from fairlead_scheduler.background.retention import Retention
from fairlead_scheduler.leadership.sessions import connect_retention
from fairlead_scheduler.settings import SchedulerSettings
from tests.chaos.fleet import Fleet
from tests.support.children import register
from tests.support.race import Lease, claim_one, complete, lead, queue_one, steal
from tests.support.schedulers import scheduling
from tests.support.worker_logins import renewal

_DELETE = "DELETE FROM fairlead.jobs WHERE id = ANY (%s)"
_ROWS = "SELECT job_id FROM fairlead.work_queue ORDER BY job_id"
_ENDED = "SELECT unnest(ended), unnest(run_us) FROM fairlead.receipts WHERE ended IS NOT NULL"


@pytest.fixture
def epoch(db: Connection[TupleRow]) -> int:
    """Return the epoch of a leader."""
    return lead(db)


@pytest.fixture
def upkeep(database_url: str, epoch: int) -> Iterator[Retention]:
    """Yield that leader's upkeep."""
    settings = SchedulerSettings(database_url=database_url)
    with closing(connect_retention(settings, name="retention")) as connection:
        yield Retention(connection, settings, epoch=epoch)


def leased(db: Connection[TupleRow], *, releases_slots: bool = True) -> tuple[Lease, int]:
    """Return an attempt that runs, and its worker."""
    queue_one(db)
    worker = register(db, releases_slots=releases_slots)
    return claim_one(db, worker), worker


def cancelled(db: Connection[TupleRow], worker: int, lease: Lease) -> list[int]:
    """Renew a worker's lease; return which of its attempts it is to cancel."""
    said = {"ids": [lease.job], "tokens": [lease.token]}
    row = db.execute(
        load("fairlead_worker.parent", "renew"), renewal(worker, **said)
    ).fetchone()
    assert row is not None
    return list(row[0])


def test_a_limited_queue_goes_on_when_its_running_job_is_deleted(
    database_url: str, fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Its handler, which would go on for ever, is stopped."""
    policy_storage.store(db, "queues: [{match: {queue: default}, slots: {limit: 1}}]")
    fleet.worker()
    with scheduling(database_url):
        (running,) = fleet.insert("held", 0)
        fleet.await_starts([running], 1)
        (waiting,) = fleet.insert("nap", 1)

        db.execute(_DELETE, [[running]])
        fleet.wait_until_done(20)

    assert [(waiting, "succeeded")] == [(each.job, each.outcome) for each in fleet.ended()]
    assert [] == db.execute(_ROWS).fetchall()


def test_a_renewal_cancels_what_was_deleted_and_nothing_that_was_completed(
    db: Connection[TupleRow],
) -> None:
    """A handler that has completed its job may do something after that."""
    deleted, worker = leased(db)
    assert [] == cancelled(db, worker, deleted)
    db.execute(_DELETE, [[deleted.job]])
    assert [deleted.token] == cancelled(db, worker, deleted)

    completed, worker = leased(db)
    complete(db, completed)
    assert [] == cancelled(db, worker, completed)


def test_a_queued_row_of_a_deleted_job_frees_its_place_at_once(
    upkeep: Retention, db: Connection[TupleRow]
) -> None:
    """The leader is told, as of every row that leaves."""
    jobs = [queue_one(db) for _ in range(3)]
    db.execute(_DELETE, [jobs[:2]])

    upkeep.forget_orphans()

    assert [(jobs[2],)] == db.execute(_ROWS).fetchall()
    assert [(jobs[0], 0), (jobs[1], 0)] == sorted(db.execute(_ENDED).fetchall())


def test_the_slot_of_a_deleted_job_is_taken_back_from_a_worker_that_lives(
    upkeep: Retention, epoch: int, db: Connection[TupleRow]
) -> None:
    """Where it does not say what it runs; the leader is told."""
    lease, _ = leased(db, releases_slots=False)
    db.execute(_DELETE, [[lease.job]])
    assert () == steal(db, epoch=epoch, overdue_seconds=0)
    assert [(lease.job,)] == db.execute(_ROWS).fetchall()

    upkeep.forget_orphans()
    assert () == steal(db, epoch=epoch, overdue_seconds=0)

    assert [] == db.execute(_ROWS).fetchall()
    assert [lease.job] == [row[0] for row in db.execute(_ENDED).fetchall()]


def test_what_is_completed_keeps_its_slot_and_its_deadline(
    upkeep: Retention, epoch: int, db: Connection[TupleRow]
) -> None:
    """Its job is gone because it is finished."""
    lease, _ = leased(db)
    complete(db, lease)

    upkeep.forget_orphans()
    steal(db, epoch=epoch, overdue_seconds=0)

    assert [(lease.job,)] == db.execute(_ROWS).fetchall()


def test_jobs_is_not_truncated(db: Connection[TupleRow]) -> None:
    """Not by its owner either: the ids of what runs would be given out again."""
    queue_one(db)

    with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
        db.execute("TRUNCATE fairlead.jobs RESTART IDENTITY")

    assert "fairlead.cancel" in str(refused.value.diag.message_hint)
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()
