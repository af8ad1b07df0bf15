"""Only the leader makes a scheduled job pending, and that job comes after the lane's cursor."""

from tests.conftest import Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    cancel,
    dispatch,
    end,
    insert,
    insert_one,
    let_fall_due,
    places,
    promote,
    rows,
    run_one,
)


def failed_and_due(db: Database) -> int:
    """Fail a job whose back-off is over."""
    lease = run_one(db)
    assert "scheduled" == end(db, lease, "failed")
    let_fall_due(db, lease.job)
    return lease.job


def behind(db: Database, cursor: int) -> list[tuple[int, int]]:
    """Read the default lane behind a cursor, as the leader does; return (id, seq) of each."""
    values = {
        "queues": ["default"],
        "tenants": [""],
        "ranks": "{0}",
        "from_seqs": [cursor + 1],
        "counts": [100],
    }
    (row,) = rows(db, "fairlead_scheduler.loop", "refill", values)
    return list(zip(row["ids"] or (), row["seqs"] or (), strict=True))


def test_a_promotion_passes_over_a_job_that_is_being_cancelled(
    db: Database, connect: Connect
) -> None:
    """A promotion takes what it can lock, and a job that was cancelled never comes back."""
    user = connect(autocommit=False)
    job = failed_and_due(db)
    assert "cancelled" == cancel(user, job)

    assert () == promote(db)
    user.commit()

    assert () == promote(db)
    assert ("cancelled",) == places(db, job)


def test_a_cancel_waits_for_a_promotion_and_ends_the_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A promoted job is pending, and a pending job is cancelled at once."""
    leader, user = connect(autocommit=False), connect()
    job = failed_and_due(db)
    assert (job,) == promote(leader)

    cancelled = outwait(lambda: cancel(user, job), waiting=user, holder=leader)

    assert "cancelled" == cancelled
    assert ("cancelled",) == places(db, job)


def test_a_dispatch_passes_over_a_job_that_is_being_promoted(
    db: Database, connect: Connect
) -> None:
    """A job is dispatched only after its promotion is there for all to see."""
    leader = connect(autocommit=False)
    job = failed_and_due(db)
    assert (job,) == promote(leader)

    assert () == dispatch(db, [job])
    leader.commit()

    assert (job,) == dispatch(db, [job])


def test_a_retry_waits_for_a_promotion_and_leaves_the_job_pending(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A retry of a pending job changes nothing."""
    leader, user = connect(autocommit=False), connect()
    job = failed_and_due(db)
    assert (job,) == promote(leader)

    retried = outwait(lambda: answer(user, "retry(%s)", job), waiting=user, holder=leader)

    assert job == retried
    assert ("pending",) == places(db, job)


def test_a_promotion_passes_over_a_job_that_is_being_retried(
    db: Database, connect: Connect
) -> None:
    """A retry makes a job due; who promotes it is the leader, with its next sweep."""
    user = connect(autocommit=False)
    lease = run_one(db)
    assert "scheduled" == end(db, lease, "failed")
    assert lease.job == answer(user, "retry(%s)", lease.job)

    assert () == promote(db)
    user.commit()

    assert ("scheduled",) == places(db, lease.job)
    assert (lease.job,) == promote(db)
    assert ("pending",) == places(db, lease.job)


def test_a_job_that_comes_back_is_behind_the_cursor_of_its_lane(db: Database) -> None:
    """A retried job draws a new place, or the leader, who has read on, would never see it."""
    lease = run_one(db)
    job = lease.job
    insert_one(db)
    cursor = max(seq for _, seq in behind(db, 0))
    assert "scheduled" == end(db, lease, "failed")
    assert job == answer(db, "retry(%s)", job)
    assert [] == behind(db, cursor)

    assert (job,) == promote(db)

    ((promoted, seq),) = behind(db, cursor)
    assert (job, True) == (promoted, seq > cursor)


def test_what_did_not_fit_of_one_instant_is_promoted_from_it_on(db: Database) -> None:
    """The next sweep begins where this one has ended, and that instant has more jobs."""
    jobs = insert(db, count=3)
    db.execute("UPDATE fairlead.jobs SET run_at = date_trunc('second', now()) - interval '1 s'")
    values = {"epoch": 0, "from_us": 0, "limit": 2}

    (first,) = rows(db, "fairlead_scheduler.background", "promote", values)
    values["from_us"] = first["reached_us"]
    (rest,) = rows(db, "fairlead_scheduler.background", "promote", values)

    assert (2, 1) == (len(first["ids"]), len(rest["ids"] or ()))
    assert {*jobs} == {*first["ids"], *rest["ids"]}


def test_a_job_that_fell_due_keeps_the_instant(db: Database) -> None:
    """Promotion keeps the due time in due_at, because waits count from it."""
    job = failed_and_due(db)
    due = db.execute("SELECT run_at FROM fairlead.jobs").fetchone()

    promote(db)

    assert due == db.execute("SELECT due_at FROM fairlead.jobs WHERE id = %s", [job]).fetchone()
