"""What an attempt that was cut short leaves to the next one, and where its job goes."""

import pytest

from tests.support.race import Database, Lease, cancel, claim_one, end, register, run_one

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


@pytest.mark.parametrize(
    ("ended_as", "checkpoint"),
    [
        ("released", "row 7"),
        ("lost", "row 7"),
        ("returned", None),
        ("failed", None),
        ("snoozed", None),
        ("crashed", None),
    ],
)
def test_only_a_run_that_was_cut_short_leaves_a_checkpoint(
    db: Database, ended_as: str, checkpoint: str | None
) -> None:
    """Where a run failed, what it had come to may be why."""
    lease = run_one(db)
    note(db, lease, "row 7")

    end(db, lease, ended_as)

    assert checkpoint == db.execute(_ROW, [lease.job]).fetchall()[0][0]


def test_a_checkpoint_stays_until_a_later_one(db: Database) -> None:
    """A run that reports nothing, or whose note is empty or another attempt's, leaves it."""
    lease = run_one(db)
    note(db, lease, "row 7")
    end(db, lease, "released")
    for text in (None, "", "row 9"):
        lease = claim_one(db, register(db))
        if text is not None:
            note(db, lease, text)
        end(db, lease, "released")
        expected = text or "row 7"

        assert expected == db.execute(_ROW, [lease.job]).fetchall()[0][0]
    lease = claim_one(db, register(db))
    end(db, lease, "failed")
    assert "row 9" == db.execute(_ROW, [lease.job]).fetchall()[0][0]


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
