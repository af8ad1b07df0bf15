"""A child pauses while its pod is marked, and can claim again afterwards."""

import itertools

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from tests.support.children import RunningChild, child, ending, endings, register
from tests.support.dispatching import dispatch_all, insert, insert_many
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_CLAIMED = "SELECT count(worker) FROM fairlead.work_queue"


def claimed(db: Connection[TupleRow], count: int) -> None:
    """Wait until so many jobs are leased."""
    until(lambda: db.execute(_CLAIMED).fetchone() == (count,), what=f"{count} leased jobs")


def await_held(running: RunningChild, count: int) -> None:
    """Wait until the child holds so many; it drops what it returned once that is stored."""
    numbers = itertools.count(1)

    def holds() -> bool:
        number = next(numbers)
        running.send(messages.HeldTokensRequest(number))
        return count == len(running.receives(messages.HeldTokens, count=number).tokens)

    until(holds, what=f"{count} held tokens")


def rests(running: RunningChild) -> list[int]:
    """Return the pauses that the child has confirmed."""
    return [
        each.number for each in running.received if isinstance(each, messages.ClaimingPaused)
    ]


def worker_of(db: Connection[TupleRow]) -> int:
    """Return the id of the only worker."""
    row = db.execute("SELECT id FROM fairlead.worker_leases").fetchone()
    assert row is not None
    return int(row[0])


def test_a_pause_returns_what_has_not_started_and_goes_on_with_what_runs(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """It is confirmed when nothing is held and every ending is stored, and not before."""
    gated = insert_many(db, "gated", 3)
    running.runs(1)
    claimed(db, 3)

    running.send(messages.PauseClaiming(1))

    claimed(db, 1)
    await_held(running, 1)
    assert [] == rests(running)
    lock.close()
    assert 1 == running.receives(messages.ClaimingPaused).number
    assert [("succeeded", None, None)] == endings(db, gated[0])
    claimed(db, 0)


def test_a_paused_child_claims_nothing_until_it_may_claim_again(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """What was dispatched meanwhile is for others, and for itself as soon as it may."""
    running.send(messages.PauseClaiming(1))
    running.receives(messages.ClaimingPaused)
    job = insert(db, "echo")
    running.send(messages.HeldTokensRequest(1))  # it was called, and is between two claims now
    running.receives(messages.HeldTokens)
    while_it_rests = endings(db, job)

    running.send(messages.StartClaiming(worker_of(db)))

    assert [] == while_it_rests
    assert "succeeded" == ending(db, job)[0]


def test_a_pause_that_was_taken_back_is_never_confirmed(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """A child that holds nothing for a moment between two jobs is not paused."""
    insert(db, "waits")
    running.runs(1)
    running.send(messages.PauseClaiming(1))
    running.send(messages.StartClaiming(worker_of(db)))
    lock.close()
    until(lambda: db.execute("SELECT FROM fairlead.jobs").fetchone() is None, what="its end")

    running.send(messages.PauseClaiming(2))

    assert 2 == running.receives(messages.ClaimingPaused).number
    assert [2] == rests(running)


def test_a_paused_child_can_be_stopped(running: RunningChild) -> None:
    """A pod that is deleted under its mark stops as every other one does."""
    running.send(messages.PauseClaiming(1))
    running.receives(messages.ClaimingPaused)

    running.send(messages.Drain())

    assert 0 == running.exits()


def test_a_suspect_job_is_the_parents_and_keeps_no_child_from_its_pause(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It is sent to the parent, and the slot that was lent for it comes back later."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    with child(database_url, register(db), concurrency=1) as running:
        db.execute("INSERT INTO fairlead.jobs (kind, suspect) VALUES ('where', true)")
        dispatch_all(db)
        alone = running.receives(messages.NeedsQuarantine)

        running.send(messages.PauseClaiming(1))
        running.receives(messages.ClaimingPaused)
        running.send(messages.SlotReturned(alone.job_id, alone.token))
        running.send(messages.StartClaiming(worker_of(db)))

        assert "succeeded" == ending(db, insert(db, "echo"))[0]


def test_a_child_confirms_its_pause_over_a_new_connection(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A lost connection delays a pause, and nothing is claimed over the next one."""
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
    running.send(messages.PauseClaiming(1))
    running.receives(messages.ClaimingPaused)
    job = insert(db, "echo")

    db.execute(ended, ["fairlead worker claims"])
    running.receives(messages.ClaimAnswerLost)
    running.send(messages.PauseClaiming(2))

    assert 2 == running.receives(messages.ClaimingPaused, count=2).number
    assert [] == endings(db, job)
