"""An application's open transaction delays the ending of the job that it holds, no other."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from psycopg import errors

from tests.conftest import Background, Connect
from tests.support.children import child
from tests.support.dispatching import dispatch_all
from tests.support.race import (
    Database,
    answer,
    end,
    finish,
    finish_free,
    halted,
    places,
    register,
    run_one,
)
from tests.support.waiting import until


def insert_waiting(db: Database, signals: Sequence[Path]) -> tuple[int, ...]:
    """Insert and dispatch jobs whose handlers end when their signals are there."""
    for signal in signals:
        db.execute(
            "INSERT INTO fairlead.jobs (kind, payload)"
            " VALUES ('waits_for_file', to_jsonb(%s::text))",
            [str(signal)],
        )
    return dispatch_all(db)


@pytest.mark.parametrize("call", ["cancel(%s)", "retry(%s)"])
def test_a_worker_writes_the_other_endings_while_an_application_holds_one_job(
    database_url: str, db: Database, connect: Connect, tmp_path: Path, call: str
) -> None:
    """An open transaction delays its own job; the worker tries that one again, and it ends."""
    user = connect(autocommit=False)
    signals = [tmp_path / name for name in "abc"]
    held, *others = insert_waiting(db, signals)
    with child(database_url, register(db)) as running:
        running.runs(3)
        answer(user, call, held)

        for signal in signals:
            signal.touch()
        until(
            lambda: [("succeeded",)] * 2 == [places(db, job) for job in others],
            what="the end of the others",
        )
        before = places(db, held)
        user.commit()
        until(lambda: places(db, held) == ("succeeded",), what="the end of the held job")

        assert ("running",) == before
        assert 0 == running.counted("stale_writes_total")


def test_a_batch_gives_up_soon_and_changes_nothing(db: Database, connect: Connect) -> None:
    """Completion waits for a row for a moment only; what it had done by then is undone."""
    user = connect(autocommit=False)
    first, second = run_one(db), run_one(db)
    answer(user, "cancel(%s)", second.job)

    with pytest.raises(errors.LockNotAvailable):
        finish(db, [first, second], lock_timeout="0")

    assert [("running",)] * 2 == [places(db, lease.job) for lease in (first, second)]


def test_a_batch_beside_a_lock_ends_what_is_free_and_tells_what_is_not(
    db: Database, connect: Connect
) -> None:
    """A job in use is asked for again; a stale token is neither; a lost job is dropped."""
    user = connect(autocommit=False)
    free, asked, extended, stale, gone = (run_one(db) for _ in range(5))
    assert "requested" == answer(user, "cancel(%s)", asked.job)
    answer(user, "extend(%s, %s, '1 minute')", extended.job, extended.token)
    assert "queued" == end(db, stale, "lost")
    db.execute("DELETE FROM fairlead.jobs WHERE id = %s", [gone.job])
    batch = [free, asked, extended, stale, gone]

    ended, locked = finish_free(db, batch)
    user.commit()

    assert {free.job, gone.job} == set(ended)
    assert {asked.job, extended.job} == set(locked)
    assert ((asked.job, extended.job), ()) == finish_free(db, batch)
    assert ("queued",) == places(db, stale.job)
    assert () == places(db, gone.job)


def test_an_application_that_cancels_in_any_order_is_no_victim_of_a_batch(
    db: Database, connect: Connect, background: Background
) -> None:
    """Where each holds what the other wants, the batch gives way before anybody is killed."""
    user, worker = connect(autocommit=False), connect()
    for session in (user, worker):
        session.execute("SET deadlock_timeout = '5s'")
    first, second = run_one(db), run_one(db)
    answer(user, "retry(%s)", second.job)

    finished = background(lambda: finish(worker, [first, second], lock_timeout="0"))
    assert halted(db, worker, finished)
    cancelled = answer(user, "cancel(%s)", first.job)
    user.commit()

    assert isinstance(finished.exception(), errors.LockNotAvailable)
    assert "requested" == cancelled
    assert ((first.job, second.job), ()) == finish_free(worker, [first, second])


def test_an_application_that_waits_for_a_key_of_a_batch_is_no_victim_of_it(
    db: Database, connect: Connect, background: Background
) -> None:
    """The batch holds the key and waits for the job: again the batch gives way."""
    user, worker = connect(autocommit=False), connect()
    for session in (user, worker):
        session.execute("SET deadlock_timeout = '5s'")
    ended = run_one(db, dedup_key="a")
    finish(db, [ended])
    keyed, held = run_one(db, dedup_key="a"), run_one(db)
    answer(user, "retry(%s)", held.job)

    finished = background(lambda: finish(worker, [keyed, held], lock_timeout="0"))
    assert halted(db, worker, finished)
    again = answer(user, "retry(%s)", ended.job)
    user.commit()

    assert isinstance(finished.exception(), errors.LockNotAvailable)
    assert keyed.job == again
    assert ((keyed.job, held.job), ()) == finish_free(worker, [keyed, held])
