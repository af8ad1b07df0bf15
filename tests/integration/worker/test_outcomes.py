"""Every way in which a handler can end, on a real child and a real server."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.children import RunningChild
from tests.support.dispatching import dispatch_all, insert
from tests.support.waiting import until

_ADMIT_ALL = "ALTER TABLE fairlead.jobs DISABLE TRIGGER jobs_admit"
_STATUS = "SELECT state, result, error, attempt FROM fairlead.job_status WHERE id = %s"


def ends(db: Connection[TupleRow], job_id: int) -> tuple[object, ...]:
    """Wait until a job is neither queued nor running; return state, result, error, attempt."""

    def over() -> tuple[object, ...] | None:
        row = db.execute(_STATUS, [job_id]).fetchone()
        assert row is not None
        return None if row[0] in {"pending", "queued", "running"} else row

    return until(over, what=f"the end of job {job_id}")


@pytest.mark.usefixtures("running")
def test_a_jobs_result_is_what_its_handler_returned(db: Connection[TupleRow]) -> None:
    """Return value → result."""
    payload = {"to": ["a", None, 1.5, "世界"], "deep": {"er": True}}

    assert ("succeeded", payload, None, 1) == ends(db, insert(db, "echo", payload))
    assert ("succeeded", None, None, 1) == ends(db, insert(db, "echo", None))


def test_functions_run_in_threads_and_in_processes_of_their_own(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """`def` handlers run in a thread pool, CPU-bound ones in a process when asked."""
    thread = ends(db, insert(db, "where"))[1]
    first, second = (ends(db, insert(db, "where_apart"))[1] for _ in range(2))

    assert {"pid": running.process.pid, "thread": "handlers", "attempt": 1} == thread
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert running.process.pid != first["pid"]
    assert running.process.pid == first["group"]
    assert first["pid"] == second["pid"]


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ("error", "ValueError: no luck"),
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt"),
        ("cancelled", "CancelledError"),
        ("closed", "GeneratorExit"),
        ("retry", "Retry: busy"),
    ],
)
def test_a_failed_attempt_is_retried_and_its_error_is_kept(
    db: Connection[TupleRow], payload: str, error: str
) -> None:
    """Exception → retry with back-off; whatever is raised, the child lives on."""
    job_id = insert(db, "raises", payload)

    state, _, last_error, attempt = ends(db, job_id)

    assert ("scheduled", 1) == (state, attempt)
    assert str(last_error).startswith(error)
    assert "child_app.py" in str(last_error)
    noted = db.execute(
        "SELECT ended_as, attempt, error FROM fairlead.attempt_errors WHERE job_id = %s",
        [job_id],
    ).fetchall()
    assert [("failed", 1, last_error)] == noted
    assert "succeeded" == ends(db, insert(db, "echo"))[0]


@pytest.mark.usefixtures("running")
def test_a_job_whose_attempts_are_used_up_has_failed(db: Connection[TupleRow]) -> None:
    """Exception → failed when attempts are used up."""
    job_id = insert(db, "raises", "error")
    db.execute("UPDATE fairlead.jobs SET max_attempts = 2 WHERE id = %s", [job_id])
    ends(db, job_id)

    db.execute("UPDATE fairlead.jobs SET run_at = NULL WHERE id = %s", [job_id])
    dispatch_all(db)

    state, _, error, attempt = ends(db, job_id)
    assert ("failed", 2) == (state, attempt)
    assert str(error).startswith("ValueError: no luck")


@pytest.mark.usefixtures("running")
def test_retry_and_snooze_say_when_and_discard_says_never(db: Connection[TupleRow]) -> None:
    """`Retry` uses an attempt, `Snooze` does not, `Discard` fails for good."""
    hour = "SELECT run_at - now() BETWEEN '59 minutes' AND '61 minutes', attempts"
    retried, snoozed = insert(db, "raises", "retry"), insert(db, "raises", "snooze")
    ends(db, retried)
    ends(db, snoozed)

    assert (True, 1) == db.execute(
        hour + " FROM fairlead.jobs WHERE id = %s", [retried]
    ).fetchone()
    assert (True, 0) == db.execute(
        hour + " FROM fairlead.jobs WHERE id = %s", [snoozed]
    ).fetchone()
    assert ("failed", None, "no such user", 1) == ends(db, insert(db, "raises", "discard"))


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        ("nul", "result holds the NUL character, which PostgreSQL refuses"),
        ("set", "result cannot be written as JSON"),
        ("inf", "result cannot be written as JSON"),
    ],
)
def test_a_result_that_cannot_be_stored_fails_the_job_with_a_sentence(
    db: Connection[TupleRow], payload: str, sentence: str
) -> None:
    """A value that JSON cannot encode fails the attempt for good: it would do so again."""
    state, result, error, _ = ends(db, insert(db, "returns", payload))

    assert ("failed", None) == (state, result)
    assert str(error).startswith(sentence)


def test_an_unknown_kind_waits_with_the_kinds_that_there_are(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Unknown kind → a sentence, no attempt used, and no series of its own."""
    state, _, error, attempt = ends(db, insert(db, "ecko"))

    assert ("scheduled", 0) == (state, attempt)
    words = "unhandled: no worker of its pool has a handler for kind 'ecko'"
    assert str(error).startswith(f"{words}; this application has: asks, ")
    until(
        lambda: running.counted("attempts_ended_total", "default", "other", "unhandled"),
        what="the count, under no kind of its own",
    )


@pytest.mark.usefixtures("running")
def test_a_payload_that_python_cannot_hold_fails_its_job_and_no_other(
    db: Connection[TupleRow],
) -> None:
    """What PostgreSQL stores and Python refuses is a clear failure, never a crash."""
    db.execute(_ADMIT_ALL)  # or such a payload is refused, today
    row = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload) VALUES ('reads', repeat('9', 6000)::jsonb)"
        " RETURNING id"
    ).fetchone()
    assert row is not None
    dispatch_all(db)

    state, _, error, _ = ends(db, row[0])

    assert "failed" == state
    assert str(error).startswith("payload cannot be read: ")
    assert "succeeded" == ends(db, insert(db, "echo"))[0]


@pytest.mark.usefixtures("running")
def test_no_job_sees_what_another_left_in_its_context(db: Connection[TupleRow]) -> None:
    """Every job starts with a clean context."""
    found = [ends(db, insert(db, "context"))[1] for _ in range(5)]

    assert [0] * 5 == found


def test_what_is_not_to_run_ends_without_a_handler(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Cancelled and expired jobs end at their claim, and a row without its job is deleted."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind) SELECT 'dies' FROM generate_series(1, 3) RETURNING id"
    ).fetchall()
    cancelled, expired, gone = (int(row[0]) for row in rows)
    with db.transaction():  # one commit: a claim that polls in between would run them
        dispatch_all(db, wake=False)
        db.execute(
            "UPDATE fairlead.jobs SET cancel_requested_at = now() WHERE id = %s", [cancelled]
        )
        doom = (
            "UPDATE fairlead.jobs SET expires_at = now(), last_error = 'it broke' WHERE id = %s"
        )
        db.execute(doom, [expired])
        db.execute("DELETE FROM fairlead.jobs WHERE id = %s", [gone])
        db.execute("NOTIFY fairlead_work")

    assert ("cancelled", None, "cancelled before it started", 1) == ends(db, cancelled)
    said = "it expired while it waited to run; before that: it broke"
    assert ("expired", None, said, 1) == ends(db, expired)
    until(
        lambda: (
            db.execute("SELECT count(*) = 0 FROM fairlead.work_queue").fetchone() == (True,)
        ),
        what="an empty queue",
    )
    assert running.process.is_alive()
