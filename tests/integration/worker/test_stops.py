"""How a child stops: one handler, all that has not started, everything, or nothing more."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import ASKED, ASYNC, CANCELLED, EVICTED, THREAD
from tests.support.children import RunningChild, ending
from tests.support.dispatching import dispatch_all, insert, insert_many
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_STATUS = "SELECT state, error FROM fairlead.job_status WHERE id = %s"


def becomes(db: Connection[TupleRow], job_id: int, state: str) -> str:
    """Wait until a job is in this state; return its error."""

    def there() -> tuple[object, ...] | None:
        row = db.execute(_STATUS, [job_id]).fetchone()
        return row if row is not None and row[0] == state else None

    return str(until(there, what=f"job {job_id} {state}")[1])


def seen(db: Connection[TupleRow], what: str) -> None:
    """Wait until a handler has left this."""
    until(
        lambda: db.execute("SELECT 1 FROM seen WHERE what = %s", [what]).fetchone(),
        what=f"a handler's {what!r}",
    )


def one_behind_another(running: RunningChild, db: Connection[TupleRow]) -> tuple[int, int]:
    """Return a job that runs, and one that is claimed and waits for its turn behind it."""
    first = insert(db, "gated")
    running.runs(1)
    second = insert(db, "gated")
    becomes(db, second, "running")  # claimed, that is
    return first, second


def test_a_coroutine_is_cancelled_when_its_job_is(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Cancellation of a running job reaches its handler, and ends the job as cancelled."""
    job_id = insert(db, "forever")
    (entry,) = running.runs()
    assert ASYNC == entry.flags

    running.send(messages.Cancel((entry.key,)))

    assert "cancelled while it ran" == becomes(db, job_id, "cancelled")
    seen(db, "cancelled")


@pytest.mark.parametrize("kind", ["asks", "asks_apart"])
def test_a_function_can_see_that_its_job_is_cancelled(
    running: RunningChild, db: Connection[TupleRow], kind: str
) -> None:
    """A thread and a process see `job.cancelled`."""
    job_id = insert(db, kind)
    (entry,) = running.runs()

    running.send(messages.Cancel((entry.key,)))

    assert "cancelled while it ran" == becomes(db, job_id, "cancelled")


@pytest.mark.usefixtures("lock")
def test_a_cancelled_function_that_does_not_look_is_overdue_for_the_parent(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """The attempt table's deadline moves to now, so that the parent ends what does not stop."""
    insert(db, "waits")
    (entry,) = running.runs()

    running.send(messages.Cancel((entry.key,)))

    def overdue() -> bool:
        (stopped,) = running.running()
        return (
            stopped.flags == THREAD | CANCELLED | ASKED
            and stopped.deadline_us < entry.deadline_us
        )

    until(overdue, what="a deadline that has passed")


@pytest.mark.parametrize("kind", ["makes_room", "makes_room_in_thread", "makes_room_apart"])
def test_a_run_that_makes_room_is_released_with_its_last_checkpoint(
    running: RunningChild, db: Connection[TupleRow], kind: str
) -> None:
    """What it said as it stopped is what the next run goes on from; no attempt counts."""
    job_id = insert(db, kind)
    (entry,) = running.runs()

    running.send(messages.Evict((entry.key,)))

    note = f"half of {job_id}"
    assert ("succeeded", f"{note}, attempt 1", None) == ending(db, job_id)
    assert [("released", "it was asked to stop so that another tenant could run")] == (
        db.execute("SELECT ended_as, error FROM fairlead.attempt_errors").fetchall()
    )
    assert [] == db.execute("SELECT FROM fairlead.job_progress").fetchall()


@pytest.mark.usefixtures("lock")
def test_a_run_that_does_not_make_room_is_overdue_for_the_parent(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """As a cancelled one is; the mark in the table says that it counts as no attempt."""
    insert(db, "waits")
    (entry,) = running.runs()

    running.send(messages.Evict((entry.key,)))

    def overdue() -> bool:
        (stopped,) = running.running()
        return (
            stopped.flags == THREAD | EVICTED | ASKED
            and stopped.deadline_us < entry.deadline_us
        )

    until(overdue, what="a deadline that has passed")


def test_the_kinds_that_agreed_to_make_room_are_reported(running: RunningChild) -> None:
    """The parent loads no application, so its children tell it."""
    kinds = {"makes_room", "makes_room_in_thread", "makes_room_apart", "never_makes_room"}

    assert kinds == {*running.receives(messages.Ready).evictable}


def test_a_handler_that_returns_after_it_was_stopped_has_succeeded(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Its token still holds, and its work is done."""
    job_id = insert(db, "waits")
    (entry,) = running.runs()
    running.send(messages.Cancel((entry.key,)))

    lock.close()

    becomes(db, job_id, "succeeded")


@pytest.mark.parametrize("kind", ["short", "deaf_apart"])
def test_an_attempt_ends_at_its_deadline(
    running: RunningChild, db: Connection[TupleRow], kind: str
) -> None:
    """The decorator's timeout shortens the row's; a process that does not stop is killed."""
    job_id = insert(db, kind)

    assert "timeout: it ran longer than 0.2 s" in becomes(db, job_id, "scheduled")
    assert running.process.is_alive()


def test_the_rows_timeout_counts_when_it_is_shorter(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """`timeout` is the least of the row's and the handler's."""
    db.execute("INSERT INTO fairlead.jobs (kind, timeout) VALUES ('forever', '100 ms')")
    (job_id,) = dispatch_all(db)

    assert "timeout: it ran longer than 0.1 s" == becomes(db, job_id, "scheduled")
    assert () == running.running()


def test_a_drain_returns_what_has_not_started_and_finishes_what_runs(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Stop claiming → return what has not started → finish → report it → exit."""
    gated = insert_many(db, "gated", 3)
    running.runs(1)
    until(
        lambda: db.execute("SELECT count(worker) FROM fairlead.work_queue").fetchone() == (3,),
        what="three claimed jobs, of which one may run",
    )

    running.send(messages.Drain())

    for job_id in gated[1:]:
        becomes(db, job_id, "queued")
    assert 1 == len(running.running())
    lock.close()
    running.receives(messages.Drained)
    assert 0 == running.exits()
    becomes(db, gated[0], "succeeded")
    assert [(0, 0)] * 2 == db.execute(
        "SELECT attempts, crashes + losses FROM fairlead.jobs"
    ).fetchall()


def test_a_drained_child_claims_nothing_more(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """What is dispatched after the drain began stays for others."""
    first = insert(db, "waits")
    running.runs(1)
    running.send(messages.Drain())
    running.receives(messages.Draining)

    later = insert(db, "echo")
    lock.close()

    assert 0 == running.exits()
    becomes(db, first, "succeeded")
    becomes(db, later, "queued")


def test_a_draining_child_still_says_what_it_holds(
    running: RunningChild, db: Connection[TupleRow], lock: Connection[TupleRow]
) -> None:
    """The parent may ask after another child's death, and would take it for unheld."""
    insert(db, "waits")
    (entry,) = running.runs()
    running.send(messages.Drain())
    running.receives(messages.Draining)

    running.send(messages.HeldTokensRequest(7))

    assert messages.HeldTokens(7, (entry.token,)) == running.receives(messages.HeldTokens)
    lock.close()
    assert 0 == running.exits()


@pytest.mark.usefixtures("lock")
def test_a_release_ends_what_stops_and_leaves_the_rest_to_the_parent(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """What ends is released without using an attempt; the attempt table keeps what does not."""
    stops_in_time = insert(db, "forever")
    deaf = insert(db, "waits")
    running.runs(2)

    running.send(messages.Release())

    running.receives(messages.Drained)
    assert 0 == running.exits()
    becomes(db, stops_in_time, "queued")
    assert [deaf] == [entry.job_id for entry in running.running()]
    becomes(db, deaf, "running")
    assert [("released", 1)] == db.execute(
        "SELECT ended_as, attempt FROM fairlead.attempt_errors"
    ).fetchall()


@pytest.mark.parametrize("how", ["lost", "hung up"])
def test_a_child_without_a_lease_stops_its_handlers_and_stores_nothing(
    running: RunningChild, db: Connection[TupleRow], how: str
) -> None:
    """When the lease is lost, or the parent is gone, the child ends within about a second."""
    job_id = insert(db, "forever")
    running.runs(1)

    if how == "lost":
        running.send(messages.LeaseLost())
    else:
        running.socket.shutdown(2)

    assert 0 == running.exits()
    seen(db, "cancelled")
    becomes(db, job_id, "running")
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()


def test_a_process_that_dies_takes_one_attempt_with_it(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A crash in a handler's own process is that job's crash; it is suspect then."""
    neighbour = insert(db, "forever")
    running.runs(1)

    job_id = insert(db, "dies_apart")

    until(
        lambda: db.execute(
            "SELECT crashes FROM fairlead.jobs WHERE id = %s AND crashes > 0", [job_id]
        ).fetchone(),
        what="a crash of the job",
    )
    running.receives(messages.NeedsQuarantine)
    becomes(db, neighbour, "running")
    (noted,) = db.execute("SELECT ended_as, error FROM fairlead.attempt_errors").fetchall()
    assert ("crashed", "the process of its handler was killed by SIGKILL") == noted


def test_an_application_that_cannot_be_loaded_is_a_sentence_and_code_2(
    database_url: str,
) -> None:
    """The child prints what is wrong, without a traceback."""
    started = RunningChild(database_url, app="no_such_module:tasks")
    try:
        assert 2 == started.exits()
        words = "ModuleNotFoundError: No module named 'no_such_module'"
        assert [f"fairlead: cannot load app 'no_such_module:tasks': {words}\n"] == started.log
    finally:
        started.end()


def test_waiting_for_a_turn_takes_nothing_from_a_jobs_time(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """What waits behind its kind's bound keeps its lease, and its time begins with it."""
    insert(db, "gated")
    running.runs(1)
    db.execute("INSERT INTO fairlead.jobs (kind, timeout) VALUES ('gated', '1 second')")
    (job_id,) = dispatch_all(db)

    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.work_queue"
            " WHERE job_id = %s AND deadline > claimed_at + interval '2 seconds'",
            [job_id],
        ).fetchone(),
        what="a later deadline",
    )

    lock.close()
    becomes(db, job_id, "succeeded")


@pytest.mark.usefixtures("lock")
def test_a_job_that_is_cancelled_while_it_waits_for_its_turn_does_not_run(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A renewal asks for what runs; the child itself asks for what waits behind a bound."""
    first, job_id = one_behind_another(running, db)

    db.execute("SELECT fairlead.cancel(%s)", [job_id])

    assert "cancelled before it started" == becomes(db, job_id, "cancelled")
    assert [first] == [entry.job_id for entry in running.running()]


@pytest.mark.usefixtures("lock")
def test_a_job_that_expires_while_it_waits_for_its_turn_does_not_run(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """It has not started by then; what has started goes on, whenever it expires."""
    first, job_id = one_behind_another(running, db)

    db.execute("UPDATE fairlead.jobs SET expires_at = now()")

    assert "it expired while it waited to run" == becomes(db, job_id, "expired")
    assert [first] == [entry.job_id for entry in running.running()]


@pytest.mark.usefixtures("running")
def test_starting_a_process_takes_nothing_from_a_jobs_time(db: Connection[TupleRow]) -> None:
    """A process loads the application before the attempt's time begins."""
    db.execute("INSERT INTO fairlead.jobs (kind, timeout) VALUES ('where_apart', '100 ms')")
    (job_id,) = dispatch_all(db)

    becomes(db, job_id, "succeeded")


@pytest.mark.parametrize("kind", ["extends_always", "extends_apart"])
def test_extending_for_ever_ends_at_the_longest_timeout(
    running: RunningChild, db: Connection[TupleRow], kind: str
) -> None:
    """Counted from the claim: the handler learns how far it got, and is stopped there."""
    job_id = insert(db, kind, timeout_max="3 seconds")
    running.runs()
    claimed = db.execute("SELECT claimed_at FROM fairlead.work_queue").fetchone()

    error = becomes(db, job_id, "scheduled")

    assert error.startswith("timeout")
    ran_and_left = db.execute(
        "SELECT extract(epoch FROM e.at - %s)::float, s.what::float"
        " FROM fairlead.attempt_errors e, seen s",
        claimed,
    ).fetchone()
    assert ran_and_left is not None
    ran_seconds, left_seconds = ran_and_left
    assert 2.9 < ran_seconds < 4.5
    assert 0 < left_seconds <= 3
