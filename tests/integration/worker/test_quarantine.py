"""A child sends suspect jobs to the parent, and a quarantine process runs what it is sent."""

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from tests.support.children import child, ending, endings, quarantine_child, register
from tests.support.dispatching import dispatch_all, insert

_LEASE = """
    UPDATE fairlead.work_queue SET worker = %s, token = nextval('fairlead.tokens'),
        claimed_at = now(), deadline = now() + timeout
    WHERE job_id = %s RETURNING token
"""


def leased(db: Connection[TupleRow], worker_id: int, *, deaths: int = 0) -> tuple[int, int]:
    """Insert a job that has crashed, and lease it; return its id and token."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, suspect, lone_deaths, expires_at)"
        " VALUES ('where', true, %s, now() + '1 hour')",
        [deaths],
    )
    (job_id,) = dispatch_all(db)
    row = db.execute(_LEASE, [worker_id, job_id]).fetchone()
    assert row is not None
    return job_id, int(row[0])


def test_a_suspect_job_goes_to_the_parent_and_keeps_its_slot(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """The child sends it away, and has the slot again when the parent returns it."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    worker_id = register(db)
    with child(database_url, worker_id, concurrency=1) as running:
        db.execute("INSERT INTO fairlead.jobs (kind, suspect) VALUES ('where', true)")
        (job_id,) = dispatch_all(db)
        alone = running.receives(messages.NeedsQuarantine)
        later = insert(db, "echo")

        with quarantine_child(database_url) as own:
            own.send(messages.RunSuspect(job_id, alone.token))
            assert messages.SuspectEnded(job_id, alone.token) == own.receives(
                messages.SuspectEnded
            )
            outcome, result, _ = ending(db, job_id)
            assert "succeeded" == outcome
            assert isinstance(result, dict)
            assert own.process.pid == result["pid"]

        assert not endings(db, later)
        running.send(messages.SlotReturned(alone.job_id, alone.token))
        assert "succeeded" == ending(db, later)[0]


def test_a_suspect_job_is_inside_its_kinds_gate_until_it_has_ended(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It runs in another child, and counts in the one that claimed it; others run meanwhile."""
    worker_id = register(db)
    with child(database_url, worker_id) as running:
        db.execute("INSERT INTO fairlead.jobs (kind, suspect) VALUES ('gated', true)")
        dispatch_all(db)
        alone = running.receives(messages.NeedsQuarantine)
        running.send(messages.SlotReturned(alone.job_id, alone.token))
        fresh = insert(db, "gated")
        assert messages.Slotless(1) == running.receives(messages.Slotless)
        assert "succeeded" == ending(db, insert(db, "echo"))[0]
        assert alone.gated
        assert not endings(db, fresh)

        running.send(messages.SuspectEnded(alone.job_id, alone.token))
        assert "succeeded" == ending(db, fresh)[0]


def test_an_attempt_that_is_gone_is_not_run_in_quarantine(database_url: str) -> None:
    """A token that holds nothing runs nothing, and the next one may come."""
    with quarantine_child(database_url) as running:
        running.send(messages.RunSuspect(1, 2))

        assert messages.SuspectEnded(1, 2) == running.receives(messages.SuspectEnded)


def test_a_suspect_job_that_expires_while_it_waits_does_not_run(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It has not started by then, and its time to begin is when it does."""
    key = leased(db, register(db))
    db.execute("UPDATE fairlead.jobs SET expires_at = now()")

    with quarantine_child(database_url) as running:
        running.send(messages.RunSuspect(*key))
        running.receives(messages.SuspectEnded)

    assert "expired" == ending(db, key[0])[0]


def test_a_job_that_died_in_quarantine_is_declined_by_a_process_that_has_run_others(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Only deaths in a fresh process can fail it: what others leave behind is not its fault."""
    worker_id = register(db)
    first, second = (leased(db, worker_id, deaths=1) for _ in range(2))
    with quarantine_child(database_url) as running:
        running.send(messages.RunSuspect(*first))
        running.receives(messages.SuspectEnded)
        running.send(messages.RunSuspect(*second))

        assert messages.SuspectDeclined(*second) == running.receives(messages.SuspectDeclined)

    assert "succeeded" == ending(db, first[0])[0]
    assert not endings(db, second[0])
