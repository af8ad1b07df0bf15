"""A job expires only if it has not started, and one that has expired never starts."""

import pytest

from tests.conftest import Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    cancel,
    claim,
    claim_one,
    dispatch,
    end,
    finish,
    insert_one,
    let_expire,
    places,
    register,
    run_one,
)

EXPIRE = "_expire(%s, '-infinity', 100)"


def expired_job(db: Database) -> int:
    """Insert a job that has expired."""
    job = insert_one(db)
    let_expire(db, job)
    return job


def test_a_job_that_never_ran_expired_while_it_waited_to_run(db: Database) -> None:
    """The history says why it has ended."""
    job = expired_job(db)

    assert 1 == answer(db, EXPIRE, 0)

    assert "it expired while it waited to run" == error(db, job)


@pytest.mark.parametrize("ended_as", ["failed", "crashed", "lost", "released"])
def test_a_job_that_expired_after_an_attempt_keeps_its_last_error(
    db: Database, ended_as: str
) -> None:
    """It had run, and what went wrong then is what people look for."""
    lease = run_one(db)
    end(db, lease, ended_as)
    let_expire(db, lease.job)

    assert 1 == answer(db, EXPIRE, 0)

    said = "it expired while it waited to run again; before that: it broke"
    assert said == error(db, lease.job)


def error(db: Database, job: int) -> object:
    """Return what the history says went wrong."""
    row = db.execute("SELECT error FROM fairlead.job_history WHERE id = %s", [job]).fetchone()
    return row and row[0]


def test_a_sweep_leaves_a_job_that_is_being_claimed_to_its_worker(
    db: Database, connect: Connect
) -> None:
    """The queued row is taken with SKIP LOCKED, and the claim says that the job is doomed."""
    worker = connect(autocommit=False)
    job, name = expired_job(db), register(db)
    dispatch(db, [job])
    lease = claim_one(worker, name)

    assert 0 == answer(db, EXPIRE, 0)
    worker.commit()

    assert 0 == answer(db, EXPIRE, 0)
    assert "expired" == lease.doomed
    assert (job,) == finish(db, [lease], outcome="expired")
    assert ("expired",) == places(db, job)


def test_a_claim_passes_over_a_job_that_is_expiring(db: Database, connect: Connect) -> None:
    """The sweep holds the queued row until the job has ended."""
    leader = connect(autocommit=False)
    job, name = expired_job(db), register(db)
    dispatch(db, [job])
    assert 1 == answer(leader, EXPIRE, 0)

    claimed = claim(db, name)
    leader.commit()

    assert () == claimed
    assert ("expired",) == places(db, job)


def test_a_sweep_passes_over_a_job_that_is_being_dispatched(
    db: Database, connect: Connect
) -> None:
    """Two statements of one leader meet on two connections, and neither waits for the other."""
    leader = connect(autocommit=False)
    job = expired_job(db)
    assert (job,) == dispatch(leader, [job])

    assert 0 == answer(db, EXPIRE, 0)
    leader.commit()

    assert 1 == answer(db, EXPIRE, 0)
    assert ("expired",) == places(db, job)


def test_a_dispatch_passes_over_a_job_that_is_expiring(db: Database, connect: Connect) -> None:
    """A job that ends as expired leaves no row in work_queue behind."""
    leader = connect(autocommit=False)
    job = expired_job(db)
    assert 1 == answer(leader, EXPIRE, 0)

    moved = dispatch(db, [job])
    leader.commit()

    assert () == moved
    assert ("expired",) == places(db, job)


def test_a_sweep_passes_over_a_job_that_is_being_cancelled(
    db: Database, connect: Connect
) -> None:
    """A job ends once: as cancelled here."""
    user = connect(autocommit=False)
    job = expired_job(db)
    assert "cancelled" == cancel(user, job)

    assert 0 == answer(db, EXPIRE, 0)
    user.commit()

    assert 0 == answer(db, EXPIRE, 0)
    assert ("cancelled",) == places(db, job)


def test_a_cancel_waits_for_the_sweep_and_finds_the_job_finished(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A job ends once: as expired here."""
    leader, user = connect(autocommit=False), connect()
    job = expired_job(db)
    assert 1 == answer(leader, EXPIRE, 0)

    cancelled = outwait(lambda: cancel(user, job), waiting=user, holder=leader)

    assert "finished" == cancelled
    assert ("expired",) == places(db, job)


def test_a_job_that_runs_when_it_expires_is_left_to_finish(db: Database) -> None:
    """Expiry is for jobs that have not started."""
    lease = run_one(db)
    let_expire(db, lease.job)

    assert 0 == answer(db, EXPIRE, 0)
    assert (lease.job,) == finish(db, [lease])
    assert ("succeeded",) == places(db, lease.job)


def test_a_sweep_passes_over_an_attempt_that_is_being_handed_back(
    db: Database, connect: Connect
) -> None:
    """The worker that hands a job back has locked it; the next sweep ends it."""
    worker = connect(autocommit=False)
    lease = run_one(db)
    let_expire(db, lease.job)
    assert "queued" == end(worker, lease, "released")

    assert 0 == answer(db, EXPIRE, 0)
    worker.commit()

    assert 1 == answer(db, EXPIRE, 0)
    assert ("expired",) == places(db, lease.job)
