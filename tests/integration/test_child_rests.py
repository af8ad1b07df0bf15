"""A child rests under its pod's mark, and can be woken up again."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker import wire
from tests.support.children import RunningChild, child, ending, endings, register
from tests.support.dispatching import dispatch_all, insert, insert_many
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_CLAIMED = "SELECT count(worker) FROM fairlead.work_queue"


def claimed(db: Connection[TupleRow], count: int) -> None:
    """Wait until so many jobs are leased."""
    until(lambda: db.execute(_CLAIMED).fetchone() == (count,), what=f"{count} leased jobs")


def rests(running: RunningChild) -> list[int]:
    """Return the rests that the child has come to."""
    return [each.number for each in running.heard if isinstance(each, wire.Rested)]


def worker_of(db: Connection[TupleRow]) -> int:
    """Return the id of the only worker."""
    row = db.execute("SELECT id FROM fairlead.worker_leases").fetchone()
    assert row is not None
    return int(row[0])


def test_a_rest_returns_what_has_not_started_and_goes_on_with_what_runs(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """It is said when nothing is held and every ending is written, and not before."""
    gated = insert_many(db, "gated", 3)
    running.runs(1)
    claimed(db, 3)

    running.say(wire.Rest(1))

    claimed(db, 1)
    running.say(wire.Roll(7))
    assert 1 == len(running.hears(wire.Holds).tokens)
    assert [] == rests(running)
    lock.close()
    assert 1 == running.hears(wire.Rested).number
    assert [("succeeded", None, None)] == endings(db, gated[0])
    claimed(db, 0)


def test_a_child_that_rests_claims_nothing_until_it_is_told_to_go(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """What was dispatched meanwhile is for others, and for itself as soon as it may."""
    running.say(wire.Rest(1))
    running.hears(wire.Rested)
    job = insert(db, "echo")
    running.say(wire.Roll(1))  # it was called, and is between two claims now
    running.hears(wire.Holds)
    while_it_rests = endings(db, job)

    running.say(wire.Go(worker_of(db)))

    assert [] == while_it_rests
    assert "succeeded" == ending(db, job)[0]


def test_a_rest_that_was_taken_back_is_never_come_to(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Who holds nothing for a moment between two jobs does not rest."""
    insert(db, "waits")
    running.runs(1)
    running.say(wire.Rest(1))
    running.say(wire.Go(worker_of(db)))
    lock.close()
    until(lambda: db.execute("SELECT FROM fairlead.jobs").fetchone() is None, what="its end")

    running.say(wire.Rest(2))

    assert 2 == running.hears(wire.Rested).number
    assert [2] == rests(running)


def test_a_child_that_rests_can_be_stopped(running: RunningChild) -> None:
    """A pod that is deleted under its mark stops as every other one does."""
    running.say(wire.Rest(1))
    running.hears(wire.Rested)

    running.say(wire.Drain())

    assert 0 == running.exits()


def test_what_must_run_alone_is_the_parents_and_keeps_no_child_from_its_rest(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It is handed over, and the slot that it is lent comes back later."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    with child(database_url, register(db), concurrency=1) as running:
        db.execute("INSERT INTO fairlead.jobs (kind, suspect) VALUES ('where', true)")
        dispatch_all(db)
        alone = running.hears(wire.Alone)

        running.say(wire.Rest(1))
        running.hears(wire.Rested)
        running.say(wire.Settled(alone.job_id, alone.token))
        running.say(wire.Go(worker_of(db)))

        assert "succeeded" == ending(db, insert(db, "echo"))[0]


def test_a_child_comes_to_its_rest_over_a_new_connection(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A lost connection puts a rest off, and nothing is claimed over the next one."""
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
    running.say(wire.Rest(1))
    running.hears(wire.Rested)
    job = insert(db, "echo")

    db.execute(ended, ["fairlead worker claims"])
    running.hears(wire.Unsure)
    running.say(wire.Rest(2))

    assert 2 == running.hears(wire.Rested, count=2).number
    assert [] == endings(db, job)
