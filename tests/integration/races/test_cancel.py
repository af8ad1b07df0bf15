"""A cancelled job never runs, and one that runs is never ended under its worker."""

import psycopg
import pytest

from tests.conftest import Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    cancel,
    claim,
    claim_one,
    complete,
    dispatch,
    end,
    finish,
    insert_one,
    places,
    queue_one,
    register,
    run_one,
)


def test_a_cancel_waits_for_a_dispatch_and_takes_the_job_back_out(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """Cancel locks the job, then looks at work_queue in a second statement, a new snapshot."""
    leader, user = connect(autocommit=False), connect()
    job = insert_one(db)
    assert (job,) == dispatch(leader, [job])

    cancelled = outwait(lambda: cancel(user, job), waiting=user, holder=leader)

    assert "cancelled" == cancelled
    assert ("cancelled",) == places(db, job)


def test_a_dispatch_passes_over_a_job_that_is_being_cancelled(
    db: Database, connect: Connect
) -> None:
    """Dispatch inserts only ids that it can lock, and never waits for one."""
    leader, user = connect(), connect(autocommit=False)
    job = insert_one(db)
    assert "cancelled" == cancel(user, job)

    moved = dispatch(leader, [job])
    user.commit()

    assert () == moved
    assert ("cancelled",) == places(db, job)


def test_a_cancel_that_is_rolled_back_leaves_the_job_pending(
    db: Database, connect: Connect
) -> None:
    """A cancel is part of its caller's transaction."""
    user = connect(autocommit=False)
    job = insert_one(db)
    assert "cancelled" == cancel(user, job)
    assert () == dispatch(db, [job])

    user.rollback()

    assert ("pending",) == places(db, job)
    assert (job,) == dispatch(db, [job])


def test_a_cancel_during_a_claim_is_a_request_that_ends_the_job(
    db: Database, connect: Connect
) -> None:
    """If the row is leased or locked, a cancel records a request; it does not wait."""
    worker = connect(autocommit=False)
    name = register(db)
    job = queue_one(db)
    lease = claim_one(worker, name)

    assert "requested" == cancel(db, job)
    worker.commit()

    assert ("running",) == places(db, job)
    assert "cancelled" == end(db, lease, "failed")
    assert ("cancelled",) == places(db, job)


def test_a_claim_that_is_rolled_back_leaves_the_cancel_request_to_the_next_claim(
    db: Database, connect: Connect
) -> None:
    """A request of which no worker was notified is found by the worker that claims next."""
    worker = connect(autocommit=False)
    name = register(db)
    job = queue_one(db)
    claim_one(worker, name)
    assert "requested" == cancel(db, job)
    worker.rollback()

    lease = claim_one(db, name)

    assert "cancelled" == lease.doomed
    assert (job,) == finish(db, [lease], outcome="cancelled")
    assert ("cancelled",) == places(db, job)


def test_a_claim_passes_over_a_job_that_is_being_cancelled(
    db: Database, connect: Connect
) -> None:
    """The cancel holds the queued row, and a claim takes only what it can lock."""
    user = connect(autocommit=False)
    name = register(db)
    job = queue_one(db)
    assert "cancelled" == cancel(user, job)

    claimed = claim(db, name)
    user.commit()

    assert () == claimed
    assert ("cancelled",) == places(db, job)


def test_a_cancel_waits_for_a_handler_that_completes_the_job_and_says_finished(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A cancel that comes while the job is being completed changes nothing."""
    handler, user = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "" == complete(handler, lease)

    cancelled = outwait(lambda: cancel(user, lease.job), waiting=user, holder=handler)

    assert "finished" == cancelled
    assert ("succeeded",) == places(db, lease.job)


def test_a_batch_that_finishes_waits_for_a_cancel_and_still_ends_the_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """Completion takes work_queue first and then waits for the jobs row that a cancel holds."""
    user, worker = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "requested" == cancel(user, lease.job)

    finished = outwait(lambda: finish(worker, [lease]), waiting=worker, holder=user)

    assert (lease.job,) == finished
    assert ("succeeded",) == places(db, lease.job)


@pytest.mark.parametrize(
    "ended_as", ["failed", "snoozed", "returned", "released", "crashed", "lost"]
)
def test_a_cancelled_attempt_ends_the_job_however_it_ends(db: Database, ended_as: str) -> None:
    """A job that is to be cancelled does not run again, whatever ends its attempt."""
    lease = run_one(db)
    assert "requested" == cancel(db, lease.job)

    assert "cancelled" == end(db, lease, ended_as)
    assert ("cancelled",) == places(db, lease.job)


def test_a_failure_waits_for_a_cancel_and_then_ends_the_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The end of an attempt looks for a cancel request after it has locked the job."""
    user, worker = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "requested" == cancel(user, lease.job)

    ended = outwait(lambda: end(worker, lease, "failed"), waiting=worker, holder=user)

    assert "cancelled" == ended
    assert ("cancelled",) == places(db, lease.job)


def test_a_cancel_waits_for_a_failure_and_ends_the_job_that_was_to_run_again(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A scheduled job is cancelled at once, also when it became so a moment ago."""
    user, worker = connect(), connect(autocommit=False)
    lease = run_one(db)
    assert "scheduled" == end(worker, lease, "failed")

    cancelled = outwait(lambda: cancel(user, lease.job), waiting=user, holder=worker)

    assert "cancelled" == cancelled
    assert ("cancelled",) == places(db, lease.job)


def test_a_cancel_twice_is_a_cancel_once(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The second cancel waits for the first and finds the job finished."""
    first, second = connect(autocommit=False), connect()
    job = insert_one(db)
    assert "cancelled" == answer(first, "cancel(%s)", job)

    repeated = outwait(lambda: answer(second, "cancel(%s)", job), waiting=second, holder=first)

    assert "finished" == repeated
    assert ("cancelled",) == places(db, job)


@pytest.mark.parametrize("jobs_max", [10_001, 0, None])
def test_a_call_cancels_a_bounded_number_of_jobs(db: Database, jobs_max: int | None) -> None:
    """Its locks last until the transaction ends."""
    insert_one(db)

    with pytest.raises(psycopg.Error, match="jobs_max is 1 to 10,000"):
        answer(db, "cancel_jobs(queue => 'default', jobs_max => %s)", jobs_max)


def test_cancelling_many_says_how_many_are_locked(db: Database, connect: Connect) -> None:
    """None of them is waited for, and a repeat finds those that are left."""
    jobs = [insert_one(db) for _ in range(5)]
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs WHERE id = ANY (%s) FOR UPDATE", [jobs[1:3]])
    call = "SELECT cancelled, locked FROM fairlead.cancel_jobs(queue => 'default')"
    db.execute("SET statement_timeout = '5s'")

    assert (3, 2) == db.execute(call).fetchone()
    holder.rollback()
    assert (2, 0) == db.execute(call).fetchone()
    assert (0, 0) == db.execute(call).fetchone()
