"""An attempt is a pair: the id of one and the token of another are nobody's attempt."""

from collections.abc import Sequence

import pytest

from tests.support.race import (
    Database,
    Lease,
    claim,
    dispatch,
    finish,
    finish_free,
    insert,
    leading,
    places,
    register,
)

_STATE = """
    SELECT q.job_id, q.token, q.deadline, q.alone, q.worker, j.crashes
    FROM fairlead.work_queue q JOIN fairlead.jobs j ON j.id = q.job_id ORDER BY q.job_id
"""
_PROGRESS = "SELECT job_id, token, note FROM fairlead.job_progress ORDER BY job_id"
_CHECKPOINTS = "SELECT checkpoint FROM fairlead.jobs ORDER BY id"
_IDS, _TOKENS = "%(ids)s::bigint[]", "%(tokens)s::bigint[]"


def run_two(db: Database) -> tuple[Lease, Lease]:
    """Insert two jobs, dispatch them and claim both."""
    assert 2 == len(dispatch(db, insert(db, count=2), epoch=leading(db)))
    first, second = claim(db, register(db))
    return first, second


def crossed(leases: Sequence[Lease]) -> tuple[Lease, Lease]:
    """Return each one's job with the other's token."""
    first, second = leases
    return Lease(first.job, second.token), Lease(second.job, first.token)


def call(db: Database, function: str, leases: Sequence[Lease]) -> list[tuple[object, ...]]:
    """Return what a function answers that takes ids and tokens."""
    values = {
        "ids": [lease.job for lease in leases],
        "tokens": [lease.token for lease in leases],
    }
    return db.execute(f"SELECT * FROM fairlead.{function}".encode(), values).fetchall()


@pytest.mark.parametrize(
    "function",
    [
        f"finish({_IDS}, {_TOKENS})",
        f"_lock_free({_IDS}, {_TOKENS})",
        f"_keep_deadlines({_IDS}, {_TOKENS}, 3600)",
        f"_count_crashes({_IDS}, {_TOKENS})",
        f"_sources({_IDS}, {_TOKENS})",
        f"_origins({_IDS}, {_TOKENS})",
    ],
    ids=lambda function: str(function).split("(", maxsplit=1)[0],
)
def test_a_crossed_pair_is_no_attempt(db: Database, function: str) -> None:
    """Nothing is answered of it, and nothing changed."""
    held = run_two(db)
    before = db.execute(_STATE).fetchall()

    answered = call(db, function, crossed(held))

    assert [] == answered
    assert before == db.execute(_STATE).fetchall()
    assert [] == db.execute("SELECT FROM fairlead.job_history").fetchall()


@pytest.mark.parametrize("function", ["release", "_release"])
def test_a_crossed_pair_gives_no_slot_back(db: Database, function: str) -> None:
    """Of attempts whose jobs are gone."""
    held = run_two(db)
    db.execute("DELETE FROM fairlead.jobs")

    assert [] == call(db, f"{function}({_IDS}, {_TOKENS})", crossed(held))
    assert 2 == len(call(db, f"{function}({_IDS}, {_TOKENS})", held))


def test_a_crossed_pair_is_handed_back_as_stale(db: Database) -> None:
    """By its worker, by a handler and by the leader."""
    held = run_two(db)
    arrays = f"{_IDS}, {_TOKENS}, '{{released,released}}', '{{a,b}}', '{{NULL,NULL}}'"

    by_worker = call(db, f"hand_back({arrays})", crossed(held))
    by_leader = call(db, f"_end_attempts({arrays}, true)", crossed(held))

    assert ["stale", "stale"] == [row[2] for row in by_worker]
    assert ["stale", "stale"] == [row[2] for row in by_leader]
    assert {("running",)} == {places(db, lease.job) for lease in held}


def test_attempts_beside_another_pair_of_their_jobs_are_ended(db: Database) -> None:
    """A batch may hold two attempts of one job, of which one is stale; each ends once."""
    first, second = run_two(db)
    batch = (first, Lease(first.job, second.token), second)

    ended = [row[0] for row in call(db, f"finish({_IDS}, {_TOKENS})", batch)]

    assert [first.token, second.token] == ended
    assert [("succeeded",)] * 2 == [places(db, lease.job) for lease in (first, second)]


def test_a_crossed_pair_is_to_stop_and_moves_no_deadline(db: Database) -> None:
    """It is told that it is lost."""
    held = run_two(db)
    before = db.execute(_STATE).fetchall()

    answered = call(
        db, f"extend_deadlines({_IDS}, {_TOKENS}, '{{86400,86400}}')", crossed(held)
    )

    assert [(lease.token, "lost") for lease in crossed(held)] == answered
    assert before == db.execute(_STATE).fetchall()


def test_deadlines_move_as_far_as_each_pair_asks(db: Database) -> None:
    """Each by its own seconds."""
    first, second = run_two(db)

    call(db, f"extend_deadlines({_IDS}, {_TOKENS}, '{{7200,86400}}')", (first, second))

    found = db.execute(
        "SELECT extract(epoch FROM deadline - now()) > 7300 FROM fairlead.work_queue"
        " ORDER BY job_id"
    ).fetchall()
    assert [(False,), (True,)] == found


def test_a_crossed_pair_has_no_progress(db: Database) -> None:
    """It stores none, and what others have stored is not forgotten for it."""
    held = run_two(db)
    stored = f"store_progress({_IDS}, {_TOKENS}, '{{0.5,0.5}}', '{{a,b}}')"

    call(db, stored, crossed(held))
    assert [] == db.execute(_PROGRESS).fetchall()
    call(db, stored, held)
    before = db.execute(_PROGRESS).fetchall()
    call(db, f"_forget_progress({_IDS}, {_TOKENS})", crossed(held))

    assert 2 == len(before)
    assert before == db.execute(_PROGRESS).fetchall()
    call(db, f"_forget_progress({_IDS}, {_TOKENS})", held)
    assert [] == db.execute(_PROGRESS).fetchall()


def test_a_crossed_pair_has_no_checkpoint(db: Database) -> None:
    """Its job goes on from where its own attempt says."""
    held = run_two(db)
    stored = f"store_checkpoints({_IDS}, {_TOKENS}, '{{1,2}}')"

    answered = call(db, stored, crossed(held))
    before = db.execute(_CHECKPOINTS).fetchall()

    assert [(lease.token, "stale") for lease in crossed(held)] == answered
    assert [(None,), (None,)] == before
    assert [(lease.token, "stored") for lease in held] == call(db, stored, held)
    assert [("1",), ("2",)] == db.execute(_CHECKPOINTS).fetchall()


def test_a_crossed_pair_has_no_ending_on_record(db: Database) -> None:
    """Neither in the history nor among the attempts that did not finish their jobs."""
    ended, failed = run_two(db), run_two(db)
    assert 2 == len(finish(db, ended))
    arrays = f"{_IDS}, {_TOKENS}, '{{failed,failed}}', '{{a,b}}', '{{1 h,1 h}}'"
    assert ["scheduled"] * 2 == [row[2] for row in call(db, f"hand_back({arrays})", failed)]

    asked = f"_ended({_IDS}, {_TOKENS})"

    assert [] == call(db, asked, (*crossed(ended), *crossed(failed)))
    assert 4 == len(call(db, asked, (*ended, *failed)))


def test_a_batch_that_is_locked_in_part_locks_no_crossed_pair(db: Database) -> None:
    """The rest of a batch is found as the batch was."""
    held = run_two(db)

    assert ((), ()) == finish_free(db, crossed(held))
    assert (tuple(lease.job for lease in held), ()) == finish_free(db, held)
