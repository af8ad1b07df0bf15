"""A cancelled job never runs, and one that runs is never ended under its worker."""

import pytest

from tests.conftest import Background, Connect
from tests.support.race import (
    Database,
    answer,
    claim,
    claim_one,
    dispatch,
    end,
    finish,
    halted,
    insert_one,
    places,
    register,
    run_one,
)


def test_a_cancel_waits_for_a_dispatch_and_takes_the_job_back_out(
    db: Database, connect: Connect, background: Background
) -> None:
    """Cancel locks the job, then looks at work_queue in a second statement, a new snapshot."""
    leader, user = connect(autocommit=False), connect()
    job = insert_one(db)
    assert (job,) == dispatch(leader, [job])

    cancelled = background(lambda: answer(user, "cancel(%s)", job))
    assert halted(db, user, cancelled)
    leader.commit()

    assert "cancelled" == cancelled.result()
    assert ("cancelled",) == places(db, job)


def test_a_dispatch_passes_over_a_job_that_is_being_cancelled(
    db: Database, connect: Connect
) -> None:
    """Dispatch inserts only ids that it can lock, and never waits for one."""
    leader, user = connect(), connect(autocommit=False)
    job = insert_one(db)
    assert "cancelled" == answer(user, "cancel(%s)", job)

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
    assert "cancelled" == answer(user, "cancel(%s)", job)
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
    job = insert_one(db)
    dispatch(db, [job])
    lease = claim_one(worker, name)

    assert "requested" == answer(db, "cancel(%s)", job)
    worker.commit()

    assert ("running",) == places(db, job)
    assert "cancelled" == end(db, lease, "failed")
    assert ("cancelled",) == places(db, job)


def test_a_claim_that_is_rolled_back_leaves_the_cancel_request_to_the_next_claim(
    db: Database, connect: Connect
) -> None:
    """A request that nobody was told of is found by whoever claims the job next."""
    worker = connect(autocommit=False)
    name = register(db)
    job = insert_one(db)
    dispatch(db, [job])
    claim_one(worker, name)
    assert "requested" == answer(db, "cancel(%s)", job)
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
    job = insert_one(db)
    dispatch(db, [job])
    assert "cancelled" == answer(user, "cancel(%s)", job)

    claimed = claim(db, name)
    user.commit()

    assert () == claimed
    assert ("cancelled",) == places(db, job)


def test_a_cancel_waits_for_a_handler_that_completes_the_job_and_says_finished(
    db: Database, connect: Connect, background: Background
) -> None:
    """A cancel that comes while the job is being completed changes nothing."""
    handler, user = connect(autocommit=False), connect()
    lease = run_one(db)
    handler.execute("SELECT fairlead.complete(%s, %s)", [lease.job, lease.token])

    cancelled = background(lambda: answer(user, "cancel(%s)", lease.job))
    assert halted(db, user, cancelled)
    handler.commit()

    assert "finished" == cancelled.result()
    assert ("succeeded",) == places(db, lease.job)


def test_a_batch_that_finishes_waits_for_a_cancel_and_still_ends_the_job(
    db: Database, connect: Connect, background: Background
) -> None:
    """Completion takes work_queue first and then waits for the jobs row that a cancel holds."""
    user, worker = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "requested" == answer(user, "cancel(%s)", lease.job)

    finished = background(lambda: finish(worker, [lease]))
    assert halted(db, worker, finished)
    user.commit()

    assert (lease.job,) == finished.result()
    assert ("succeeded",) == places(db, lease.job)


@pytest.mark.parametrize(
    "ended_as", ["failed", "snoozed", "returned", "released", "crashed", "lost"]
)
def test_a_cancelled_attempt_ends_the_job_however_it_ends(db: Database, ended_as: str) -> None:
    """A job that is to be cancelled does not run again, whatever ends its attempt."""
    lease = run_one(db)
    assert "requested" == answer(db, "cancel(%s)", lease.job)

    assert "cancelled" == end(db, lease, ended_as)
    assert ("cancelled",) == places(db, lease.job)


def test_a_failure_waits_for_a_cancel_and_then_ends_the_job(
    db: Database, connect: Connect, background: Background
) -> None:
    """The end of an attempt looks for a cancel request after it has locked the job."""
    user, worker = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "requested" == answer(user, "cancel(%s)", lease.job)

    ended = background(lambda: end(worker, lease, "failed"))
    assert halted(db, worker, ended)
    user.commit()

    assert "cancelled" == ended.result()
    assert ("cancelled",) == places(db, lease.job)


def test_a_cancel_waits_for_a_failure_and_ends_the_job_that_was_to_run_again(
    db: Database, connect: Connect, background: Background
) -> None:
    """A scheduled job is cancelled at once, also when it became so a moment ago."""
    user, worker = connect(), connect(autocommit=False)
    lease = run_one(db)
    assert "scheduled" == end(worker, lease, "failed")

    cancelled = background(lambda: answer(user, "cancel(%s)", lease.job))
    assert halted(db, user, cancelled)
    worker.commit()

    assert "cancelled" == cancelled.result()
    assert ("cancelled",) == places(db, lease.job)


def test_a_cancel_twice_is_a_cancel_once(
    db: Database, connect: Connect, background: Background
) -> None:
    """The second cancel waits for the first and finds the job finished."""
    first, second = connect(autocommit=False), connect()
    job = insert_one(db)
    assert "cancelled" == answer(first, "cancel(%s)", job)

    repeated = background(lambda: answer(second, "cancel(%s)", job))
    assert halted(db, second, repeated)
    first.commit()

    assert "finished" == repeated.result()
    assert ("cancelled",) == places(db, job)
