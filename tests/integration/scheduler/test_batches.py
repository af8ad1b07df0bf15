"""A batch has one completion, once all of its jobs have ended, whoever adds to it meanwhile."""

from functools import partial

import psycopg
import pytest

from tests.conftest import Background, Connect
from tests.support import race
from tests.support.batches import (
    LIMITED,
    NOT_JOINED,
    NOTHING,
    ONE,
    Settled,
    add,
    completions,
    counted,
    finish,
    make,
    settle,
)
from tests.support.race import Database, Outwait, answer, lead


@pytest.fixture
def epoch(db: Database) -> int:
    """Return the epoch of a leader that does what a test has it do."""
    return lead(db)


def test_the_completion_comes_when_all_have_ended_and_says_how_they_did(
    db: Database, epoch: int
) -> None:
    """Any outcome is an end; what the payload said stays beside the counts."""
    batch = make(db, tenant="acme", payload='{"book": 7}')
    jobs = add(db, batch, count=7)
    for outcome, few in (
        ("succeeded", jobs[:3]),
        ("failed", jobs[3:5]),
        ("cancelled", jobs[5:6]),
    ):
        finish(db, few, outcome)
    assert NOTHING == settle(db, epoch)
    assert [] == completions(db)

    finish(db, jobs[6:], "expired")

    assert ONE == settle(db, epoch)
    counts = {"succeeded": 3, "failed": 2, "cancelled": 1, "expired": 1, "unknown": 0}
    assert [("acme", {"book": 7, "batch": {"id": batch, "jobs": 7, **counts}})] == db.execute(
        "SELECT tenant, payload FROM fairlead.jobs"
    ).fetchall()
    assert [(True, {})] == db.execute(
        "SELECT b.completion_job = j.id, b.payload FROM fairlead.batches b, fairlead.jobs j"
    ).fetchall()
    assert NOTHING == settle(db, epoch)
    assert [] == db.execute("SELECT FROM fairlead.batch_jobs").fetchall()


def test_a_job_that_waits_for_another_attempt_has_not_ended(db: Database, epoch: int) -> None:
    """Neither has one that is claimed, or that its worker has handed back."""
    batch = make(db)
    (job,) = add(db, batch)
    assert (job,) == race.dispatch(db, [job], epoch=epoch)
    lease = race.claim_one(db, race.register(db))
    assert NOTHING == settle(db, epoch)
    assert "scheduled" == race.end(db, lease, "failed")

    assert NOTHING == settle(db, epoch)

    finish(db, [job], "failed")
    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 1, "failed": 1}] == completions(db)


def test_an_open_batch_waits_to_be_closed_and_an_empty_one_is_over(
    db: Database, epoch: int
) -> None:
    """Its jobs may have ended long before."""
    batch = make(db, is_open=True)
    finish(db, add(db, batch))
    assert NOTHING == settle(db, epoch)
    assert {"succeeded": 1} == counted(db, batch)
    empty = make(db)
    assert ONE == settle(db, epoch)

    assert answer(db, "close_batch(%s)", batch) is True

    assert ONE == settle(db, epoch)
    assert [{"id": empty}, {"id": batch, "jobs": 1, "succeeded": 1}] == completions(db)
    assert answer(db, "close_batch(%s)", batch) is False
    assert answer(db, "close_batch(%s)", batch + 2) is None


def test_nobody_waits_for_what_was_rolled_back(
    db: Database, connect: Connect, epoch: int
) -> None:
    """A job, a savepoint of jobs, a job whose dedup key was in use, and a batch."""
    batch = make(db)
    application = connect(autocommit=False)
    add(application, batch)
    application.rollback()
    kept = add(application, batch)
    with application.transaction(force_rollback=True):
        add(application, batch)
    for _ in range(2):
        application.execute(
            "INSERT INTO fairlead.jobs (kind, dedup_key, batch) VALUES ('k', 'once', %s)"
            " ON CONFLICT DO NOTHING",
            [batch],
        )
    application.commit()
    add(application, make(application))
    application.rollback()

    jobs = [row[0] for row in db.execute("SELECT id FROM fairlead.jobs").fetchall()]
    assert 2 == len(jobs)
    assert set(kept) < set(jobs)
    finish(db, jobs)

    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 2, "succeeded": 2}] == completions(db)


def test_a_job_that_is_committed_late_is_counted(
    db: Database, connect: Connect, epoch: int
) -> None:
    """Its id is lower than that of one which has ended already."""
    batch = make(db)
    late, early = connect(autocommit=False), connect(autocommit=False)
    (slow,) = add(late, batch)
    (fast,) = add(early, batch)
    early.commit()
    finish(db, [fast])

    assert NOTHING == settle(db, epoch)
    late.commit()
    assert NOTHING == settle(db, epoch)
    finish(db, [slow], "failed")

    assert slow < fast
    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 2, "succeeded": 1, "failed": 1}] == completions(db)


def test_who_adds_while_the_batch_is_completed_is_told_that_it_is_over(
    db: Database, connect: Connect, epoch: int, outwait: Outwait
) -> None:
    """It waits for the leader, and no job is lost in a batch that has had its completion."""
    batch = make(db)
    leader, late = connect(autocommit=False), connect()
    assert ONE == settle(leader, epoch)

    code = outwait(partial(refusal, late, batch), waiting=late, holder=leader)

    assert NOT_JOINED == code
    assert [{"id": batch}] == completions(db)
    assert 1 == len(db.execute("SELECT FROM fairlead.jobs").fetchall())


def test_who_adds_while_a_leader_dies_has_joined(
    db: Database, connect: Connect, epoch: int, background: Background
) -> None:
    """What the dead leader had not committed has not happened."""
    batch = make(db)
    leader, late = connect(autocommit=False), connect()
    assert ONE == settle(leader, epoch)
    added = background(partial(add, late, batch))
    assert race.halted(db, late, added)

    leader.close()
    joined = added.result()

    assert NOTHING == settle(db, epoch)
    finish(db, joined)
    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 1, "succeeded": 1}] == completions(db)


def refusal(db: Database, batch: int) -> str | None:
    """Return the SQLSTATE with which a job of a batch is refused; None: it is not."""
    try:
        add(db, batch)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_a_handler_adds_to_its_batch_until_it_has_completed_its_job(
    db: Database, connect: Connect, epoch: int
) -> None:
    """What it adds in that transaction is there when its own job has ended."""
    batch = make(db)
    (job,) = add(db, batch)
    assert (job,) == race.dispatch(db, [job], epoch=epoch)
    lease = race.claim_one(db, race.register(db))
    handler = connect(autocommit=False)
    (child,) = add(handler, batch)
    assert "" == race.complete(handler, lease)
    assert NOTHING == settle(db, epoch)
    handler.commit()

    assert NOTHING == settle(db, epoch)
    finish(db, [child])

    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 2, "succeeded": 2}] == completions(db)


def test_a_completion_waits_for_room_in_its_lane_and_delays_no_other(
    db: Database, epoch: int
) -> None:
    """The batch says why, as it does where anything else keeps the job out."""
    full, evil = make(db, tenant="full"), make(db, tenant="evil")
    other = make(db)
    db.execute(LIMITED)
    db.execute("ALTER TABLE fairlead.jobs ADD CONSTRAINT no_evil CHECK (tenant <> 'evil')")

    assert Settled(1, 2, more=False, reached_id=None) == settle(db, epoch)

    assert [{"id": other}] == completions(db)
    (said, refused) = db.execute(
        "SELECT problem FROM fairlead.batches WHERE completed_at IS NULL ORDER BY id"
    ).fetchall()
    assert "at its backlog limit of 1000" in said[0]
    assert "no_evil" in refused[0]
    db.execute("DELETE FROM fairlead.over_backlog")
    db.execute("ALTER TABLE fairlead.jobs DROP CONSTRAINT no_evil")
    assert Settled(2, 0, more=False, reached_id=None) == settle(db, epoch)
    assert {full, evil, other} == {each["id"] for each in completions(db)}
    assert [] == db.execute("SELECT FROM fairlead.batches WHERE problem IS NOT NULL").fetchall()


def test_a_job_that_the_history_does_not_have_is_unknown(db: Database, epoch: int) -> None:
    """It keeps no batch from its end: it was deleted by hand."""
    batch = make(db)
    gone, ended = add(db, batch, count=2)
    db.execute("DELETE FROM fairlead.jobs WHERE id = %s", [gone])
    finish(db, [ended])

    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 2, "succeeded": 1, "unknown": 1}] == completions(db)


def test_what_ended_behind_a_job_that_takes_days_is_counted_while_its_history_is_there(
    db: Database, epoch: int
) -> None:
    """The history of successes is kept for a week, or for a day; the first job waits longer."""
    batch = make(db)
    first, second, *others = add(db, batch, count=8)
    finish(db, others[:4])
    finish(db, others[4:], "failed")
    assert NOTHING == settle(db, epoch)
    assert {} == counted(db, batch)

    db.execute("UPDATE fairlead.batches SET looked_at = now() - interval '6 hours 1 s'")
    steps = [settle(db, epoch, limit=3) for _ in range(4)]
    assert [True, True, False, False] == [each.more for each in steps]
    assert {"succeeded": 4, "failed": 2} == counted(db, batch)
    db.execute("DELETE FROM fairlead.job_history")

    finish(db, [first])
    assert NOTHING == settle(db, epoch)
    late = add(db, batch)
    finish(db, [second, *late], "cancelled")
    assert ONE == settle(db, epoch)
    counts = {"succeeded": 5, "failed": 2, "cancelled": 2}
    assert [{"id": batch, "jobs": 9, **counts}] == completions(db)


@pytest.mark.parametrize("again", ["retry(%s)", "redrive(%s)"])
def test_what_repeats_an_ended_job_is_in_no_batch(db: Database, epoch: int, again: str) -> None:
    """The batch has counted how the job ended, or will."""
    batch = make(db)
    (job,) = add(db, batch)
    finish(db, [job], "failed")
    assert answer(db, again, job if again.startswith("retry") else "default")

    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 1, "failed": 1}] == completions(db)


def test_a_batch_that_nobody_closes_is_given_up(db: Database, epoch: int) -> None:
    """When it is old and has no job that has not ended; there is no completion."""
    batch = make(db, is_open=True)
    (job,) = add(db, batch)
    db.execute("UPDATE fairlead.batches SET created_at = now() - interval '91 days'")
    assert NOTHING == settle(db, epoch)
    finish(db, [job])

    settle(db, epoch)

    assert [(True, None)] == db.execute(
        "SELECT completed_at IS NOT NULL, completion_job FROM fairlead.batches"
    ).fetchall()
    assert NOT_JOINED == refusal(db, batch)
    assert [] == completions(db)
