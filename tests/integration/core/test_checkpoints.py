"""What an attempt leaves to the next one, and where its job goes."""

import psycopg
import pytest

from tests.conftest import Connect
from tests.support.race import (
    STALE,
    Database,
    Lease,
    Outwait,
    cancel,
    claim_one,
    end,
    register,
    run_one,
)

pytestmark = pytest.mark.any_server

_ROW = """
    SELECT checkpoint, attempts, run_at IS NULL, seq, due_at > created_at
    FROM fairlead.jobs WHERE id = %s
"""
_RECEIPT = "SELECT ended, evicted, returned, run_us[1] > 0 FROM fairlead.receipts WHERE id = {}"
_LAST = _RECEIPT.format("(SELECT max(id) FROM fairlead.receipts)")


def note(db: Database, lease: Lease, text: str) -> None:
    """Have an attempt report its progress."""
    db.execute(
        "INSERT INTO fairlead.job_progress (job_id, token, fraction, note)"
        " VALUES (%s, %s, 0.5, %s) ON CONFLICT (job_id) DO UPDATE"
        " SET token = excluded.token, note = excluded.note",
        [lease.job, lease.token, text],
    )


def ask(db: Database, lease: Lease) -> None:
    """Ask an attempt to make room."""
    db.execute(
        "INSERT INTO fairlead.evictions (job_id, token, for_queue, for_tenant)"
        " VALUES (%s, %s, 'default', 'quiet')",
        [lease.job, lease.token],
    )


def checkpoint(db: Database, lease: Lease, value: str) -> str | None:
    """Store what the job of an attempt goes on from; return what became of it."""
    row = db.execute(
        "SELECT became FROM fairlead.store_checkpoints(ARRAY[%s], ARRAY[%s], ARRAY[%s])",
        [lease.job, lease.token, value],
    ).fetchone()
    return None if row is None else str(row[0])


def kept(db: Database, lease: Lease) -> str | None:
    """Return what a job goes on from."""
    found: str | None = db.execute(_ROW, [lease.job]).fetchall()[0][0]
    return found


@pytest.mark.parametrize(
    "ended_as", ["released", "lost", "returned", "failed", "snoozed", "crashed"]
)
def test_a_checkpoint_stays_whatever_ends_the_attempt(db: Database, ended_as: str) -> None:
    """And a note of progress, which is for people, is none."""
    lease = run_one(db)
    note(db, lease, "row 9")
    before = kept(db, lease)

    became = checkpoint(db, lease, '{"row": 7}')
    end(db, lease, ended_as)

    assert (None, "stored", '{"row": 7}') == (before, became, kept(db, lease))


def test_the_next_attempt_finds_the_checkpoint_and_replaces_it(db: Database) -> None:
    """A claim answers it; null is one too."""
    lease = run_one(db)
    checkpoint(db, lease, '"row 7"')
    end(db, lease, "released")
    (claimed,) = db.execute(
        "SELECT token, checkpoint FROM fairlead.claim(%s, 1)", [register(db)]
    ).fetchall()
    lease = Lease(lease.job, claimed[0])

    assert '"row 7"' == claimed[1]
    assert ("stored", "null") == (checkpoint(db, lease, "null"), kept(db, lease))


def test_an_attempt_that_has_lost_its_job_stores_none(db: Database) -> None:
    """Neither of the two functions."""
    lease = run_one(db)
    checkpoint(db, lease, "1")
    end(db, lease, "released")

    assert "stale" == checkpoint(db, lease, "2")
    with pytest.raises(psycopg.Error) as refused:
        db.execute("SELECT fairlead.checkpoint(%s, %s, '2')", [lease.job, lease.token])
    assert (STALE, "1") == (refused.value.sqlstate, kept(db, lease))
    later = claim_one(db, register(db))
    assert "stale" == checkpoint(db, lease, "2")
    assert ("stored", "3") == (checkpoint(db, later, "3"), kept(db, lease))


def test_a_checkpoint_is_committed_with_the_work_or_not_at_all(db: Database) -> None:
    """In the handler's own transaction."""
    lease = run_one(db)
    store = "SELECT fairlead.checkpoint(%s, %s, '7')"
    with db.transaction(force_rollback=True):
        db.execute(store, [lease.job, lease.token])
        within = kept(db, lease)
    after = kept(db, lease)

    db.execute(store, [lease.job, lease.token])

    assert ("7", None, "7") == (within, after, kept(db, lease))


def test_a_job_that_is_locked_keeps_no_other_checkpoint_waiting(
    db: Database, connect: Connect
) -> None:
    """An application may have locked a job for long: then it is to be asked again."""
    first, second = run_one(db), run_one(db)
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs WHERE id = %s FOR UPDATE", [first.job])

    became = db.execute(
        "SELECT token, became FROM fairlead.store_checkpoints(%s, %s, ARRAY['1', '2'])",
        [[first.job, second.job], [first.token, second.token]],
    ).fetchall()

    assert {first.token: "locked", second.token: "stored"} == dict(became)
    holder.rollback()
    assert "stored" == checkpoint(db, first, "1")


def test_who_took_the_attempt_away_meanwhile_has_the_last_word(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The function waits for the job's row, and looks at the token after that."""
    lease = run_one(db)
    holder, waiting = connect(autocommit=False), connect()
    end(holder, lease, "lost")

    def store() -> str | None:
        try:
            waiting.execute("SELECT fairlead.checkpoint(%s, %s, '2')", [lease.job, lease.token])
        except psycopg.Error as error:
            return error.sqlstate
        return None

    assert STALE == outwait(store, waiting=waiting, holder=holder)
    assert kept(db, lease) is None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("to_jsonb(repeat('x', 65534))", ""),
        (
            "to_jsonb(repeat('x', 65535))",
            "checkpoint is 65,537 bytes of JSON, more than 65,536",
        ),
        (
            "(repeat('[', 501) || repeat(']', 501))::jsonb",
            "checkpoint is nested more than 500 deep",
        ),
        (
            "to_jsonb(('1' || repeat('0', 4000))::numeric)",
            "checkpoint holds a number of 1e4000",
        ),
        ("NULL", "checkpoint is null: give the JSON value null"),
    ],
)
def test_a_checkpoint_is_bounded(db: Database, value: str, sentence: str) -> None:
    """So that a claim of many stays small, and every reader can read it."""
    lease, said = run_one(db), ""
    try:
        db.execute(
            f"SELECT fairlead.checkpoint(%s, %s, {value})".encode(), [lease.job, lease.token]
        )
    except psycopg.errors.CheckViolation as error:
        said = str(error.diag.message_primary)

    assert said.startswith(f"fairlead: {sentence}") if sentence else said == ""


@pytest.mark.parametrize("ended_as", ["released", "lost", "crashed"])
def test_a_run_that_was_asked_to_stop_is_pending_in_its_place(
    db: Database, ended_as: str
) -> None:
    """It leaves the queue, where it would be claimed first, and counts no attempt."""
    lease = run_one(db)
    (place,) = db.execute("SELECT seq FROM fairlead.jobs").fetchall()
    ask(db, lease)

    assert "pending" == end(db, lease, ended_as)

    assert [] == db.execute("SELECT FROM fairlead.work_queue").fetchall()
    assert (None, 0, True, place[0], True) == db.execute(_ROW, [lease.job]).fetchone()
    assert ([lease.job], [lease.job], None, True) == db.execute(_LAST).fetchone()
    assert "stale" == end(db, lease, ended_as)


@pytest.mark.parametrize(
    ("ended_as", "became"), [("returned", "queued"), ("failed", "scheduled")]
)
def test_another_ending_of_a_run_that_was_asked_means_what_it_always_does(
    db: Database, ended_as: str, became: str
) -> None:
    """One that had not started, and one that failed."""
    lease = run_one(db)
    ask(db, lease)

    assert became == end(db, lease, ended_as)


def test_a_job_that_was_cancelled_as_well_is_over(db: Database) -> None:
    """It need not run again."""
    lease = run_one(db)
    ask(db, lease)
    assert "requested" == cancel(db, lease.job)

    assert "cancelled" == end(db, lease, "released")
