"""Endings are fenced: after a lost connection, a steal or a handler's own commit."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import AttemptEntry
from tests.conftest import Connect
from tests.support.children import RunningChild, ending, endings
from tests.support.dispatching import dispatch_all, insert, insert_many
from tests.support.waiting import until

_STEAL = """
    SELECT became FROM fairlead._end_attempts(
        array[%s]::bigint[], array[%s]::bigint[], array['lost'], array[null::text],
        array[null::interval])
"""
_CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s
"""


def writes_are_over(running: RunningChild, db: Connection[TupleRow]) -> None:
    """Wait until the child has stored everything, and drain it."""
    running.send(messages.Drain())
    running.receives(messages.Drained)
    assert 0 == running.exits()
    assert (0,) == db.execute("SELECT count(worker) FROM fairlead.work_queue").fetchone()


def steal(db: Connection[TupleRow], entry: AttemptEntry) -> None:
    """Take a running attempt away, as the leader does after a worker's death."""
    assert ("queued",) == db.execute(_STEAL, [entry.job_id, entry.token]).fetchone()


def test_a_job_that_was_taken_away_is_not_ended_by_its_former_attempt(
    running: RunningChild,
    lock: Connection[TupleRow],
    connect: Connect,
    db: Connection[TupleRow],
) -> None:
    """A write with an old token changes nothing and is counted."""
    no_claims = connect(autocommit=False)
    job_id = insert(db, "waits")
    (entry,) = running.runs()
    no_claims.execute("LOCK TABLE fairlead.worker_leases IN EXCLUSIVE MODE")
    steal(db, entry)

    lock.close()

    until(lambda: running.counted("stale_writes_total"), what="a stale write")
    assert not endings(db, job_id)
    no_claims.rollback()
    assert ("succeeded", "waited", None) == ending(db, job_id)
    writes_are_over(running, db)
    assert 1 == running.counted("stale_writes_total")


def test_a_stale_handler_cannot_commit_its_work(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """`complete` with an old token raises, so that the handler's transaction rolls back."""
    insert(db, "completes_late")
    (entry,) = running.runs()
    db.execute("UPDATE fairlead.jobs SET suspect = true")  # it would run alone
    steal(db, entry)
    db.execute("DELETE FROM fairlead.work_queue")

    lock.close()

    until(lambda: running.counted("stale_writes_total"), what="a stale write")
    assert [("stale",)] == db.execute("SELECT what FROM seen").fetchall()


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("completes", {"by": "handler"}),
        ("completes_async", None),
        ("completes_apart", "apart"),
    ],
)
def test_a_handler_can_finish_its_job_in_its_own_transaction(
    running: RunningChild, db: Connection[TupleRow], kind: str, result: object
) -> None:
    """The work and the job's end commit together; that ending does not count as stale."""
    job_id = insert(db, kind)

    outcome, stored, error = ending(db, job_id)

    assert ("succeeded", None) == (outcome, error)
    assert (result if result is not None else [job_id]) == stored
    writes_are_over(running, db)
    assert 0 == running.counted("stale_writes_total")
    assert 1 == running.counted("jobs_finished_total", "default", kind, "succeeded")


def test_an_error_after_the_commit_does_not_undo_the_ending(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A finished job never runs again."""
    job_id = insert(db, "completes", "then fail")

    assert ("succeeded", {"by": "handler"}, None) == ending(db, job_id)
    writes_are_over(running, db)
    assert 0 == running.counted("stale_writes_total")


@pytest.mark.usefixtures("running")
def test_a_completion_that_was_rolled_back_is_a_failed_attempt(
    db: Connection[TupleRow],
) -> None:
    """The job's end is as rolled back as the work: it runs again."""
    job_id = insert(db, "completes", "roll back")

    (error,) = until(
        lambda: db.execute(
            "SELECT last_error FROM fairlead.jobs WHERE id = %s AND run_at IS NOT NULL",
            [job_id],
        ).fetchone(),
        what="a retry",
    )

    assert "the handler completed the job in a transaction that was not committed" == error
    assert [] == db.execute("SELECT * FROM seen").fetchall()


@pytest.mark.parametrize("name", ["fairlead worker endings", "fairlead worker claims"])
def test_a_child_lives_through_the_loss_of_a_connection(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow], name: str
) -> None:
    """Handlers keep running, endings are stored once there is a connection again."""
    during = insert(db, "waits")
    running.runs()
    insert(db, "echo")  # so that the endings' connection is open
    until(lambda: db.execute(_CUT, [name]).fetchall(), what="a connection to cut")

    lock.close()

    assert ("succeeded", "waited", None) == ending(db, during)
    assert "succeeded" == ending(db, insert(db, "echo"))[0]
    writes_are_over(running, db)
    assert 0 == running.counted("stale_writes_total")


def test_a_lost_answer_to_a_claim_is_reported_to_the_parent(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Jobs may be leased that no child holds, so the parent runs an orphan-claim check."""
    until(
        lambda: db.execute(_CUT, ["fairlead worker claims"]).fetchall(),
        what="a connection to cut",
    )

    running.receives(messages.ClaimAnswerLost)

    assert "succeeded" == ending(db, insert(db, "echo"))[0]


def test_an_ending_that_met_a_lock_is_stored_when_the_lock_is_gone(
    running: RunningChild,
    lock: Connection[TupleRow],
    connect: Connect,
    db: Connection[TupleRow],
) -> None:
    """A row that an open transaction has locked delays its own ending and no other."""
    holder = connect(autocommit=False)
    job_id = insert(db, "completes_late")
    (entry,) = running.runs()
    holder.execute("SELECT FROM fairlead.work_queue WHERE token = %s FOR UPDATE", [entry.token])
    running.send(messages.Cancel((entry.key,)))
    other = insert(db, "short")

    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.attempt_errors WHERE job_id = %s", [other]
        ).fetchone(),
        what="the ending of another job",
    )

    holder.rollback()
    lock.close()
    assert "succeeded" == ending(db, job_id)[0]


def test_an_ending_that_the_database_refuses_fails_its_attempt_and_no_other(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Each ending is tried by itself, and the error is the database's message."""
    db.execute(
        "ALTER TABLE fairlead.job_history"
        " ADD CONSTRAINT no_sevens CHECK (result <> '7') NOT VALID"
    )
    with db.transaction():
        db.execute(
            "INSERT INTO fairlead.jobs (kind, payload)"
            " SELECT 'echo', to_jsonb(n) FROM generate_series(5, 9) n"
        )
    dispatch_all(db)

    (error,) = until(
        lambda: db.execute(
            "SELECT last_error FROM fairlead.jobs WHERE run_at IS NOT NULL"
        ).fetchone(),
        what="a retry",
    )

    assert str(error).startswith("its ending could not be stored: new row for relation")
    assert "no_sevens" in str(error)
    writes_are_over(running, db)
    assert [5, 6, 8, 9] == [
        row[0] for row in db.execute("SELECT result FROM fairlead.job_history ORDER BY id")
    ]


@pytest.mark.usefixtures("lock")
def test_a_request_for_held_tokens_is_answered_with_every_one(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Running or waiting for a turn: what was claimed is held."""
    insert_many(db, "gated", 3)
    claimed = until(
        lambda: (
            rows
            if len(
                rows := db.execute(
                    "SELECT token FROM fairlead.work_queue WHERE worker > 0"
                ).fetchall()
            )
            == 3
            else None
        ),
        what="three claims",
    )

    running.send(messages.HeldTokensRequest(7))

    holds = running.receives(messages.HeldTokens)
    assert 7 == holds.number
    assert {int(token) for (token,) in claimed} == set(holds.tokens)


def test_reports_reach_the_database_while_the_handler_runs(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Progress and extensions travel on the worker's own connection."""
    job_id = insert(db, "reports")
    (entry,) = running.runs()

    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.job_status WHERE id = %s AND progress = 0.25"
            " AND progress_note = 'a quarter' AND deadline > now() + '49 minutes'",
            [job_id],
        ).fetchone(),
        what="progress and a later deadline",
    )
    (entry,) = running.running()
    assert entry.deadline_us - entry.started_us > 2900 * 1_000_000

    running.send(messages.Cancel((entry.key,)))
    assert "cancelled" == ending(db, job_id)[0]
    until(
        lambda: (
            db.execute("SELECT count(*) = 0 FROM fairlead.job_progress").fetchone() == (True,)
        ),
        what="the end of its progress",
    )


def test_an_extension_stops_a_handler_that_has_lost_its_job(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """An attempt that no longer holds its job is stopped, and stores nothing."""
    job_id = insert(db, "extends_late")
    running.runs()
    db.execute("DELETE FROM fairlead.work_queue WHERE job_id = %s", [job_id])

    lock.close()

    until(
        lambda: db.execute("SELECT 1 FROM seen").fetchone(),
        what="the handler's request to stop",
    )
    writes_are_over(running, db)
    assert [] == db.execute("SELECT * FROM fairlead.job_history").fetchall()
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()
