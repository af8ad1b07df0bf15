"""What replaces a job meets whoever has that job, and another that replaces it."""

import pytest
from psycopg import errors

from tests.conftest import Background, Connect
from tests.support import race
from tests.support.batches import make
from tests.support.enqueuing import Enqueued, enqueue, replace
from tests.support.race import Database, Outwait, halted, insert_one, places, queue_one


def keyed(db: Database) -> int:
    """Insert a job with the key."""
    return insert_one(db, dedup_key="key")


def test_a_replacement_waits_for_a_dispatch_and_takes_the_job_out(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """As a cancel: it looks into work_queue in a second statement, a new snapshot."""
    leader, application = connect(autocommit=False), connect()
    job = keyed(db)
    assert (job,) == race.dispatch(leader, [job])

    other = outwait(lambda: replace(application), waiting=application, holder=leader)

    assert ("cancelled",) == places(db, job)
    assert ("pending",) == places(db, other)


def test_a_dispatch_passes_over_a_job_that_is_being_replaced(
    db: Database, connect: Connect
) -> None:
    """It never waits for an application."""
    application = connect(autocommit=False)
    job = keyed(db)
    other = replace(application)

    assert () == race.dispatch(db, [job])
    application.commit()
    assert () == race.dispatch(db, [job])
    assert (other,) == race.dispatch(db, [other])


def test_a_claim_passes_over_a_job_that_is_being_replaced(
    db: Database, connect: Connect
) -> None:
    """Nobody runs the payload before."""
    application, worker = connect(autocommit=False), race.register(db)
    job = keyed(db)
    race.dispatch(db, [job], epoch=race.leading(db))

    other = replace(application)

    assert () == race.claim(db, worker)
    application.commit()
    assert () == race.claim(db, worker)
    assert ("cancelled", "pending") == (*places(db, job), *places(db, other))


def test_a_job_that_is_being_claimed_is_followed(db: Database, connect: Connect) -> None:
    """It waits for no worker."""
    worker = connect(autocommit=False)
    name, job = race.register(db), keyed(db)
    race.dispatch(db, [job], epoch=race.leading(db))
    lease = race.claim_one(worker, name)

    found = enqueue(db, replace=True)
    worker.commit()

    assert "follows" == found.became
    assert ("running",) == places(db, job)
    assert (job,) == race.finish(db, [lease])


def test_a_claim_that_is_rolled_back_leaves_nothing_old_to_run(
    db: Database, connect: Connect
) -> None:
    """The job was followed, and is found expired by who claims it next."""
    worker = connect(autocommit=False)
    name, job = race.register(db), keyed(db)
    race.dispatch(db, [job], epoch=race.leading(db))
    race.claim_one(worker, name)

    assert "follows" == enqueue(db, replace=True).became
    worker.rollback()

    assert "expired" == race.claim_one(db, name).doomed


def test_a_replacement_waits_for_a_completion_and_is_a_new_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The key is free when the job that held it has ended."""
    worker, application = connect(autocommit=False), connect()
    lease = race.run_one(db, dedup_key="key")
    assert (lease.job,) == race.finish(worker, [lease])

    found = outwait(
        lambda: enqueue(application, replace=True), waiting=application, holder=worker
    )

    assert "inserted" == found.became
    assert ("succeeded",) == places(db, lease.job)


def test_a_completion_waits_for_what_follows_the_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """And then ends the job that it ran."""
    application, worker = connect(autocommit=False), connect()
    lease = race.run_one(db, dedup_key="key")
    assert "follows" == enqueue(application, replace=True).became

    ended = outwait(lambda: race.finish(worker, [lease]), waiting=worker, holder=application)

    assert (lease.job,) == ended
    assert [("key",)] == db.execute("SELECT dedup_key FROM fairlead.jobs").fetchall()


@pytest.mark.parametrize("run_at", [None, "2100-01-01Z"])
def test_of_two_replacements_the_second_waits_and_is_the_last(
    db: Database, connect: Connect, outwait: Outwait, run_at: str | None
) -> None:
    """One job is left, with the payload of who came last."""
    one, two = connect(autocommit=False), connect()
    enqueue(db, run_at=run_at)
    replace(one, "1", run_at=run_at)

    other = outwait(lambda: replace(two, "2", run_at=run_at), waiting=two, holder=one)

    assert [(other, 2)] == db.execute("SELECT id, payload FROM fairlead.jobs").fetchall()


@pytest.mark.parametrize("committed", [True, False])
def test_a_replacement_waits_for_an_open_insert(
    db: Database, connect: Connect, background: Background, *, committed: bool
) -> None:
    """It replaces what that commits, and is a new job if nothing comes."""
    one, two = connect(autocommit=False), connect()
    keyed(one)

    found = background(lambda: enqueue(two, replace=True, payload="2"))
    assert halted(db, two, found)
    (one.commit if committed else one.rollback)()

    assert ("replaced" if committed else "inserted") == found.result().became
    assert [(2,)] == db.execute("SELECT payload FROM fairlead.jobs").fetchall()


def test_a_promotion_passes_over_a_job_that_is_put_off(db: Database, connect: Connect) -> None:
    """And does not take it before its new time."""
    application, epoch = connect(autocommit=False), race.leading(db)
    job = keyed(db)
    db.execute("UPDATE fairlead.jobs SET run_at = now()")

    assert job == replace(application, run_at="2100-01-01Z")

    assert () == race.promote(db, epoch=epoch)
    application.commit()
    assert () == race.promote(db, epoch=epoch)
    assert ("scheduled",) == places(db, job)


def test_a_replacement_waits_for_a_promotion_and_takes_the_new_place(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """What the leader has promoted it may have read."""
    leader, application = connect(autocommit=False), connect()
    job = keyed(db)
    db.execute("UPDATE fairlead.jobs SET run_at = now()")
    assert (job,) == race.promote(leader, epoch=race.leading(db))

    other = outwait(lambda: replace(application), waiting=application, holder=leader)

    assert ("cancelled", "pending") == (*places(db, job), *places(db, other))
    assert [(True,)] == db.execute("SELECT due_at IS NOT NULL FROM fairlead.jobs").fetchall()


def test_a_hand_back_waits_for_no_transaction_that_replaces_several(
    db: Database, connect: Connect, background: Background
) -> None:
    """It goes by ids, and they by keys: it takes what is free, and the other when it can."""
    application, worker = connect(autocommit=False), connect(autocommit=False)
    jobs = [enqueue(db, dedup_key=key).id or 0 for key in "ab"]
    race.dispatch(db, jobs, epoch=race.leading(db))
    leases = race.claim(db, race.register(db))
    enqueue(application, dedup_key="b", replace=True)
    handed_back = worker.execute(
        "SELECT became FROM fairlead.hand_back(%s, %s, %s) ORDER BY job_id",
        [[each.job for each in leases], [each.token for each in leases], ["returned"] * 2],
    ).fetchall()

    found = background(lambda: enqueue(application, dedup_key="a", replace=True))
    assert halted(db, application, found)
    worker.commit()

    assert [("queued",), ("locked",)] == handed_back
    assert "replaced" == found.result().became
    application.commit()
    assert ("cancelled",) == places(db, jobs[0])


def test_a_cancel_waits_for_a_replacement(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The job that it names has ended; who replaced it knows the other's id."""
    application, user = connect(autocommit=False), connect()
    job = keyed(db)
    other = replace(application)

    said = outwait(lambda: race.cancel(user, job), waiting=user, holder=application)

    assert "finished" == said
    assert ("pending",) == places(db, other)


def test_it_looks_again_when_the_holder_of_the_key_ends_under_its_eyes(
    db: Database, connect: Connect, background: Background
) -> None:
    """It was a duplicate of a job that has ended by the time that it is locked."""
    stop, application = connect(autocommit=False), connect()
    job = keyed(db)
    slow(db, application, stop)

    found = background(lambda: enqueue(application, replace=True))
    assert halted(db, application, found)
    race.cancel(db, job)
    stop.commit()

    assert "inserted" == found.result().became


def slow(db: Database, application: Database, stop: Database) -> None:
    """Have an application's next INSERT wait, when it has looked for its key, for another."""
    db.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
        " 'begin if current_setting(''application_name'') = ''slow'' then"
        " perform pg_advisory_xact_lock_shared(1); end if; return null; end';"
        "CREATE TRIGGER z AFTER INSERT ON fairlead.jobs EXECUTE FUNCTION wait()"
    )
    application.execute("SET application_name = 'slow'")
    stop.execute("SELECT pg_advisory_xact_lock(1)")


def test_a_wait_ends_when_the_session_says_so(db: Database, connect: Connect) -> None:
    """Another application keeps nobody for longer."""
    one, two = connect(autocommit=False), connect()
    keyed(db)
    replace(one)
    two.execute("SET lock_timeout = '50ms'")

    with pytest.raises(errors.LockNotAvailable):
        enqueue(two, replace=True)


@pytest.mark.parametrize("committed", [True, False])
def test_of_two_jobs_of_one_period_one_is_inserted(
    db: Database, connect: Connect, background: Background, *, committed: bool
) -> None:
    """The second waits for the first, and comes when that is rolled back."""
    one, two = connect(autocommit=False), connect()
    assert "inserted" == enqueue(one, unique_for="1 hour").became

    found = background(lambda: enqueue(two, unique_for="1 hour"))
    assert halted(db, two, found)
    (one.commit if committed else one.rollback)()

    assert ("duplicate" if committed else "inserted") == found.result().became
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()


def test_a_period_that_begins_under_its_eyes_is_kept(
    db: Database, connect: Connect, background: Background
) -> None:
    """Another's job began it and ended after this one had looked: this one is taken back."""
    stop, application = connect(autocommit=False), connect()
    db.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
        " 'begin if current_setting(''application_name'') = ''slow'' then"
        " perform pg_advisory_xact_lock_shared(1); end if; return null; end';"
        "CREATE TRIGGER a BEFORE INSERT ON fairlead.jobs EXECUTE FUNCTION wait()"
    )
    application.execute("SET application_name = 'slow'")
    stop.execute("SELECT pg_advisory_xact_lock(1)")
    batch = make(application)
    found = background(lambda: enqueue(application, unique_for="1 hour", batch=batch))
    assert halted(db, application, found)
    first = enqueue(db, unique_for="1 hour")
    assert first.id is not None
    race.cancel(db, first.id)
    stop.commit()

    assert Enqueued(None, "duplicate") == found.result()
    assert [(0,)] == db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()
    assert [] == db.execute("SELECT FROM fairlead.batch_jobs").fetchall()


def test_what_is_locked_elsewhere_keeps_nobody(db: Database, connect: Connect) -> None:
    """A row of work_queue that the leader changes is passed over, like one that runs."""
    leader = connect(autocommit=False)
    job = queue_one(db)
    db.execute("UPDATE fairlead.jobs SET dedup_key = 'key'")
    leader.execute("SELECT FROM fairlead.work_queue FOR UPDATE")

    assert "follows" == enqueue(db, replace=True).became
    leader.rollback()

    assert "expired" == race.claim_one(db, race.register(db)).doomed
    assert ("running",) == places(db, job)
