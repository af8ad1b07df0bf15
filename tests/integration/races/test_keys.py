"""A dedup key belongs to one unfinished job, and a finished job is repeated once per wish."""

import pytest

from tests.conftest import Background, Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    complete,
    end,
    finish,
    halted,
    insert,
    insert_one,
    places,
    run_one,
)


def fail_for_good(db: Database, *, dedup_key: str | None = None) -> int:
    """Run a job to its final failure."""
    lease = run_one(db, dedup_key=dedup_key)
    assert (lease.job,) == finish(db, [lease], outcome="failed")
    return lease.job


def test_an_insert_waits_for_a_completion_that_frees_its_key(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The key is free when the job that held it has ended, and not before."""
    worker, application = connect(autocommit=False), connect()
    lease = run_one(db, dedup_key="daily")
    assert (lease.job,) == finish(worker, [lease])

    inserted = outwait(
        lambda: insert(application, dedup_key="daily"), waiting=application, holder=worker
    )

    (job,) = inserted
    assert ("pending",) == places(db, job)
    assert ("succeeded",) == places(db, lease.job)


def test_an_insert_is_a_duplicate_when_the_completion_is_rolled_back(
    db: Database, connect: Connect, background: Background
) -> None:
    """No row comes back for a duplicate."""
    handler, application = connect(autocommit=False), connect()
    lease = run_one(db, dedup_key="daily")
    assert "" == complete(handler, lease)

    inserted = background(lambda: insert(application, dedup_key="daily"))
    assert halted(db, application, inserted)
    handler.rollback()

    assert () == inserted.result()
    assert ("running",) == places(db, lease.job)


def test_a_handler_may_enqueue_its_own_successor_under_the_same_key(
    db: Database, connect: Connect
) -> None:
    """In the transaction that completed the job, its key is free."""
    handler = connect(autocommit=False)
    lease = run_one(db, dedup_key="daily")

    assert "" == complete(handler, lease)
    successor = insert_one(handler, dedup_key="daily")
    handler.commit()

    assert ("pending",) == places(db, successor)


@pytest.mark.parametrize("committed", [True, False])
def test_a_retry_waits_for_an_open_insert_of_its_key(
    db: Database, connect: Connect, background: Background, *, committed: bool
) -> None:
    """If its dedup key is live, the retry answers that job's id, and else a new job's."""
    application, user = connect(autocommit=False), connect()
    failed = fail_for_good(db, dedup_key="daily")
    newer = insert_one(application, dedup_key="daily")

    retried = background(lambda: answer(user, "retry(%s)", failed))
    assert halted(db, user, retried)
    (application.commit if committed else application.rollback)()

    assert committed == (newer == retried.result())
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()


def test_a_retry_waits_for_the_holder_of_its_key_to_end(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A job that ends during the retry is not answered as the live one."""
    worker, user = connect(autocommit=False), connect()
    failed = fail_for_good(db, dedup_key="daily")
    lease = run_one(db, dedup_key="daily")
    assert (lease.job,) == finish(worker, [lease])

    retried = outwait(lambda: answer(user, "retry(%s)", failed), waiting=user, holder=worker)

    assert retried not in {failed, lease.job}
    assert (failed,) == db.execute("SELECT retry_of FROM fairlead.jobs").fetchone()


def test_a_retry_tries_again_when_the_holder_of_its_key_ends_under_its_eyes(
    db: Database, connect: Connect, background: Background
) -> None:
    """It was a duplicate of a job that has ended by the time that it looks for it."""
    stop, user = connect(autocommit=False), connect()
    failed = fail_for_good(db, dedup_key="daily")
    lease = run_one(db, dedup_key="daily")
    # The retry's INSERT finds a duplicate; after that statement it waits for this lock.
    db.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
        " 'begin perform pg_advisory_xact_lock_shared(1); return null; end';"
        " CREATE TRIGGER z AFTER INSERT ON fairlead.jobs EXECUTE FUNCTION wait()"
    )
    stop.execute("SELECT pg_advisory_xact_lock(1)")

    retried = background(lambda: answer(user, "retry(%s)", failed))
    assert halted(db, user, retried)
    assert (lease.job,) == finish(db, [lease])
    stop.commit()

    assert (failed, retried.result()) == db.execute(
        "SELECT retry_of, id FROM fairlead.jobs"
    ).fetchone()


def test_a_finished_job_has_one_unfinished_repeat(db: Database) -> None:
    """A retry answers the live repeat, or what repeats that, and makes a new one after both."""
    failed = fail_for_good(db)
    repeat = answer(db, "retry(%s)", failed)
    assert repeat == answer(db, "retry(%s)", failed)

    finish_now(db, repeat, "failed")
    second = answer(db, "retry(%s)", repeat)
    assert second not in {failed, repeat}
    assert second == answer(db, "retry(%s)", failed)

    finish_now(db, second, "succeeded")
    assert answer(db, "retry(%s)", failed) not in {failed, repeat, second}


def finish_now(db: Database, job: object, outcome: str) -> None:
    """End a pending job."""
    db.execute("SELECT fairlead._end_jobs(ARRAY[%s::bigint], ARRAY[%s])", [job, outcome])


def test_two_retries_at_once_make_one_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The second one waits for the first, and answers what that has made."""
    first, second = connect(autocommit=False), connect()
    failed = fail_for_good(db)
    made = answer(first, "retry(%s)", failed)

    again = outwait(lambda: answer(second, "retry(%s)", failed), waiting=second, holder=first)

    assert made == again


@pytest.mark.parametrize("way", ["redrive('default')", "retry(1)"])
def test_a_job_whose_repeat_is_forgotten_is_not_redriven(db: Database, way: str) -> None:
    """Successes are kept for 7 days and failures for 30; each is repeated once all the same."""
    assert 1 == fail_for_good(db)
    answer(db, way)
    db.execute(
        "SELECT fairlead._end_jobs(array_agg(id), ARRAY['succeeded']) FROM fairlead.jobs"
    )
    db.execute("DELETE FROM fairlead.job_history WHERE outcome = 'succeeded'")

    assert 0 == answer(db, "redrive('default')")


def test_a_redrive_passes_over_a_job_that_is_being_retried(
    db: Database, connect: Connect
) -> None:
    """Another session repeats it already; the redrive does not wait for that."""
    user = connect(autocommit=False)
    retried, other = fail_for_good(db), fail_for_good(db)
    answer(user, "retry(%s)", retried)

    assert 1 == answer(db, "redrive('default')")
    user.commit()

    assert [(retried,), (other,)] == db.execute(
        "SELECT retry_of FROM fairlead.jobs ORDER BY retry_of"
    ).fetchall()


def test_two_redrives_at_once_repeat_each_job_once(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A redrive waits for another one and sees what that made."""
    first, second = connect(autocommit=False), connect()
    failed = fail_for_good(db)
    assert 1 == answer(first, "redrive('default')")

    repeated = outwait(
        lambda: answer(second, "redrive('default')"), waiting=second, holder=first
    )

    assert 0 == repeated
    assert [(failed,)] == db.execute("SELECT retry_of FROM fairlead.jobs").fetchall()


def test_a_redrive_reaches_past_jobs_whose_key_is_live(db: Database) -> None:
    """Calling until it answers 0 repeats everything that can be repeated."""
    blocked = fail_for_good(db, dedup_key="daily")
    insert_one(db, dedup_key="daily")
    failed = fail_for_good(db)
    redrive_one = "redrive('default', jobs_max => 1)"

    assert (1, 0) == (answer(db, redrive_one), answer(db, redrive_one))
    assert [(failed,)] == db.execute(
        "SELECT retry_of FROM fairlead.jobs WHERE retry_of IS NOT NULL"
    ).fetchall()
    assert ("failed",) == places(db, blocked)


def test_a_retry_waits_for_a_failure_and_makes_the_job_due(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A scheduled job falls due now and keeps its id."""
    worker, user = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "scheduled" == end(worker, lease, "failed")

    retried = outwait(lambda: answer(user, "retry(%s)", lease.job), waiting=user, holder=worker)

    assert lease.job == retried
    assert (True,) == db.execute("SELECT run_at <= now() FROM fairlead.jobs").fetchone()
