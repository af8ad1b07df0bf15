"""Changing the priority of jobs that wait: who is changed, what is told, and what stays."""

from typing import cast

import psycopg
import pytest

from tests.conftest import Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    dispatch,
    finish,
    insert,
    insert_one,
    lead,
    places,
    queue_one,
    run_one,
)
from tests.support.waiting import until

_ALIKE = "SELECT changed, running, locked FROM fairlead.set_priorities"
_RECEIPTS = "SELECT moved FROM fairlead.receipts WHERE moved IS NOT NULL ORDER BY id"
_SCHEDULED = """
    INSERT INTO fairlead.jobs (kind, run_at) VALUES ('noop', now() + interval '1 hour')
    RETURNING id
"""


def stands(db: Database, job: int) -> tuple[int, int]:
    """Return a job's priority and its place."""
    row = db.execute("SELECT priority, seq FROM fairlead.jobs WHERE id = %s", [job]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def told(db: Database) -> list[list[tuple[str, str, int, int, list[int]]]]:
    """Return what receipts say of jobs that have moved."""
    return [[tuple(each) for each in moved] for (moved,) in db.execute(_RECEIPTS).fetchall()]


def noted(db: Database, verb: str) -> list[tuple[object, ...]]:
    """Return the audit log's entries of one kind."""
    return db.execute(
        "SELECT job_id, queue, tenant, details FROM fairlead.audit WHERE verb = %s ORDER BY id",
        [verb],
    ).fetchall()


def test_a_pending_job_has_a_new_place_behind_the_others_and_is_told(db: Database) -> None:
    """A repeat changes nothing and is noted by nobody."""
    job, last = insert(db, count=2)

    assert "changed" == answer(db, "set_priority(%s, 7)", job)
    assert "unchanged" == answer(db, "set_priority(%s, 7)", job)

    priority, place = stands(db, job)
    assert (7, True) == (priority, place > stands(db, last)[1])
    assert [[("default", "", 0, -7, [job])]] == told(db)
    assert [(job, "default", "", {"priority": 7, "former": 0})] == noted(db, "set_priority")


def test_a_scheduled_job_keeps_its_place_and_nobody_is_told(db: Database) -> None:
    """It has a new place when it falls due, and the leader reads it then."""
    (job,) = cast("tuple[int]", db.execute(_SCHEDULED).fetchone())
    _, place = stands(db, job)

    assert "changed" == answer(db, "set_priority(%s, -100)", job)

    assert (-100, place) == stands(db, job)
    assert [] == told(db)


def test_a_queued_job_is_changed_and_the_leader_is_told(db: Database) -> None:
    """The leader decides whether it is recalled."""
    job = queue_one(db)

    assert "changed" == answer(db, "set_priority(%s, -1)", job)

    assert ("queued",) == places(db, job)
    assert [[("default", "", 0, 1, [job])]] == told(db)


def test_a_running_job_keeps_its_priority(db: Database) -> None:
    """And so does one that has ended; of one that never was nothing is known."""
    lease = run_one(db)

    assert "running" == answer(db, "set_priority(%s, 5)", lease.job)
    assert 0 == stands(db, lease.job)[0]
    finish(db, [lease])
    assert "finished" == answer(db, "set_priority(%s, 5)", lease.job)
    assert "unknown" == answer(db, "set_priority(%s, 5)", lease.job + 1000)

    assert ([], []) == (told(db), noted(db, "set_priority"))


@pytest.mark.parametrize("priority", [-101, 101, 70000, None])
def test_a_priority_that_no_job_has_is_refused(db: Database, priority: int | None) -> None:
    """With the bounds in the sentence, in both functions."""
    job = insert_one(db)

    for call in (f"set_priority({job}, %s)", "set_priorities(%s, queue => 'default')"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="give -100 to 100"):
            answer(db, call, priority)

    assert 0 == stands(db, job)[0]


def test_a_change_of_a_session_that_dies_leaves_nothing(db: Database, connect: Connect) -> None:
    """It is part of its caller's transaction, and a dispatch passes the job over meanwhile."""
    epoch = lead(db)
    operator = connect(autocommit=False)
    job = insert_one(db)
    before = stands(db, job)
    assert "changed" == answer(operator, "set_priority(%s, 9)", job)
    assert () == dispatch(db, [job], epoch=epoch)

    operator.close()

    until(lambda: dispatch(db, [job], epoch=epoch) == (job,), what="the dispatch")
    assert before == stands(db, job)
    assert ([], []) == (told(db), noted(db, "set_priority"))


def test_a_change_waits_for_a_dispatch_and_sees_what_that_has_queued(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """It locks the job, and reads work_queue in a statement that begins after that."""
    leader, operator = connect(autocommit=False), connect()
    job = insert_one(db)
    assert (job,) == dispatch(leader, [job])

    changed = outwait(
        lambda: answer(operator, "set_priority(%s, 9)", job), waiting=operator, holder=leader
    )

    assert ("changed", ("queued",)) == (changed, places(db, job))


def test_many_jobs_are_changed_in_batches_in_their_order(db: Database) -> None:
    """At most so many in a call, those of other lanes not, and each in its former order."""
    jobs = insert(db, count=7)
    db.execute("INSERT INTO fairlead.jobs (kind, tenant) VALUES ('noop', 'other')")
    running = run_one(db).job

    counts = [
        db.execute(f"{_ALIKE}(4, tenant => '', jobs_max => 3)").fetchone() for _ in range(4)
    ]

    assert [3, 3, 1, 0] == [count[0] for count in counts if count]
    assert (0, 1, 0) == counts[-1]
    assert list(jobs) == sorted(jobs, key=lambda job: stands(db, job)[1])
    assert {4} == {stands(db, job)[0] for job in jobs}
    assert 0 == stands(db, running)[0]
    assert [3, 3, 1] == [details["jobs"] for *_, details in _entries(db)]


def _entries(db: Database) -> list[tuple[object, object, object, dict[str, object]]]:
    return cast(
        "list[tuple[object, object, object, dict[str, object]]]", noted(db, "set_priorities")
    )


def test_what_somebody_holds_is_left_and_counted(db: Database, connect: Connect) -> None:
    """A call waits for nobody."""
    jobs = insert(db, count=3)
    other = connect(autocommit=False)
    other.execute("SELECT FROM fairlead.jobs WHERE id = %s FOR UPDATE", [jobs[1]])

    assert (2, 0, 1) == db.execute(f"{_ALIKE}(4, kind => 'noop')").fetchone()
    other.rollback()
    assert (1, 0, 0) == db.execute(f"{_ALIKE}(4, kind => 'noop')").fetchone()


def test_a_receipt_tells_of_a_hundred_jobs_at_most(db: Database) -> None:
    """So that none is large, however many lanes they are of."""
    jobs = insert(db, count=250)

    assert (250, 0, 0) == db.execute(f"{_ALIKE}(1, queue => 'default')").fetchone()

    moves = told(db)
    assert [100, 100, 50] == [sum(len(move[4]) for move in moved) for moved in moves]
    assert list(jobs) == [job for moved in moves for move in moved for job in move[4]]


def test_whose_jobs_to_change_has_to_be_said(db: Database) -> None:
    """Nobody changes all by leaving out what to change."""
    with pytest.raises(psycopg.errors.NullValueNotAllowed, match="name a queue"):
        answer(db, "set_priorities(3)")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="jobs_max"):
        answer(db, "set_priorities(3, 'default', jobs_max => 10001)")
