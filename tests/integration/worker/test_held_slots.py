"""A slot counts until its handler is over, also when the job is finished before that."""

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.db.statements import load
from fairlead_worker.ipc import messages
from tests.conftest import Connect
from tests.support.children import RunningChild, ending, register
from tests.support.dispatching import dispatch_all, insert
from tests.support.race import (
    STALE,
    Lease,
    answer,
    claim,
    claim_one,
    complete,
    end,
    queue_one,
    steal,
)
from tests.support.schedulers import Replica, scheduling
from tests.support.waiting import until

_ROWS = "SELECT completed, worker FROM fairlead.work_queue"
_RECEIPTS = "SELECT ended, run_us FROM fairlead.receipts WHERE ended IS NOT NULL"


def held_one(db: Connection[TupleRow]) -> tuple[Lease, int]:
    """Return an attempt of a worker that releases slots, and the worker's id."""
    queue_one(db)
    worker = register(db, name="releasing", releases_slots=True)
    return claim_one(db, worker), worker


def rows(db: Connection[TupleRow]) -> int:
    """Return how many rows work_queue has."""
    return len(db.execute(_ROWS).fetchall())


def receipts(db: Connection[TupleRow]) -> list[tuple[list[int], list[int]]]:
    """Return what ended and for how long it had its slot."""
    return [(row[0], row[1]) for row in db.execute(_RECEIPTS).fetchall()]


def ticks(replica: Replica) -> float:
    """Return how many steps the leader has made."""
    value = replica.metrics.registry.get_sample_value("fairlead_scheduler_ticks_total")
    assert value is not None
    return value


def test_a_slot_counts_until_the_handler_that_completed_its_job_is_over(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """The job is finished at once, and its row stays until the slot is free."""
    job_id = insert(db, "completes_and_stays")
    assert ("succeeded", "early", None) == ending(db, job_id)
    (entry,) = running.runs()

    assert [] == db.execute("SELECT * FROM fairlead.jobs").fetchall()
    assert [(True,)] == db.execute("SELECT completed FROM fairlead.work_queue").fetchall()
    assert [(0, 0, 1)] == db.execute(
        "SELECT pending, queued, running FROM fairlead.queue_stats"
    ).fetchall()
    assert [] == receipts(db)
    lock.close()

    until(lambda: rows(db) == 0, what="the slot's release")
    ((ended, run_us),) = receipts(db)
    assert [job_id] == ended
    assert run_us[0] >= 0
    assert [(entry.token,)] == db.execute("SELECT token FROM fairlead.job_history").fetchall()
    until(
        lambda: running.counted("jobs_finished_total", "default", "completes_and_stays"),
        what="the count of the ending",
    )
    assert 0 == running.counted("stale_writes_total")


def test_the_deadline_ends_a_handler_that_has_completed_its_job(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """The slot is free then, and the job stays finished."""
    job_id = insert(db, "completes_for_ever")

    assert ("succeeded", None, None) == ending(db, job_id)
    running.runs()

    until(lambda: rows(db) == 0, what="the slot's release")
    ((_, run_us),) = receipts(db)
    assert 300_000 <= run_us[0] <= 2_000_000
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()
    assert ("succeeded", None, None) == ending(db, job_id)


def test_a_completed_job_is_neither_completed_nor_failed_again(
    db: Connection[TupleRow],
) -> None:
    """Its token holds the slot alone."""
    lease, _ = held_one(db)
    assert "" == complete(db, lease)

    assert STALE == complete(db, lease)
    with pytest.raises(psycopg.Error) as refused:
        answer(db, "fail(%s, %s)", lease.job, lease.token)

    assert STALE == refused.value.sqlstate
    assert "finished" == answer(db, "cancel(%s)", lease.job)
    assert 1 == rows(db)


@pytest.mark.parametrize("how", ["failed", "returned", "crashed"])
def test_handing_a_completed_attempt_back_frees_its_slot(
    db: Connection[TupleRow], how: str
) -> None:
    """As when its process has died: the job is finished and nothing else is stored."""
    lease, _ = held_one(db)
    complete(db, lease)

    assert "stale" == end(db, lease, how, patient=False)

    assert 0 == rows(db)
    assert [[lease.job]] == [ended for ended, _ in receipts(db)]
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()
    assert [("succeeded",)] == db.execute("SELECT outcome FROM fairlead.job_history").fetchall()


def test_the_steal_sweep_frees_the_slots_of_a_lost_worker(db: Connection[TupleRow]) -> None:
    """A crash between the completion and the release leaves a row that the sweep deletes."""
    lease, worker = held_one(db)
    complete(db, lease)
    assert () == steal(db)
    assert 1 == rows(db)
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [worker])

    assert () == steal(db)

    assert 0 == rows(db)
    assert [("succeeded",)] == db.execute("SELECT outcome FROM fairlead.job_history").fetchall()


def test_a_release_waits_for_no_open_completion(
    db: Connection[TupleRow], connect: Connect
) -> None:
    """Until its transaction has ended, nobody knows whether the job is finished."""
    handler = connect(autocommit=False)
    lease, _ = held_one(db)
    complete(handler, lease)
    release = load("fairlead_worker.attempts", "release")
    keys = {"ids": [lease.job], "tokens": [lease.token], "run_us": [1000]}

    assert [] == db.execute(release, keys).fetchall()
    assert "locked" == end(db, lease, "crashed", patient=False)
    handler.commit()

    assert [(lease.token,)] == db.execute(release, keys).fetchall()
    assert [] == db.execute(release, keys).fetchall()
    assert [([lease.job], [1000])] == receipts(db)


def test_a_limit_counts_the_slot_of_a_completed_job(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """The next job of a queue that may have one slot waits for the slot, not for the job."""
    policy_storage.store(db, "queues: [{match: {queue: default}, slots: {limit: 1}}]")
    db.execute("INSERT INTO fairlead.jobs (kind) SELECT 'noop' FROM generate_series(1, 2)")
    worker = register(db, name="releasing", releases_slots=True)

    with scheduling(database_url) as replica:
        (first,) = until(lambda: claim(db, worker), what="the first job")
        complete(db, first)
        seen = ticks(replica)
        until(lambda: ticks(replica) > seen + 3, what="three more plans")
        assert 1 == rows(db)
        db.execute(
            load("fairlead_worker.attempts", "release"),
            {"ids": [first.job], "tokens": [first.token], "run_us": [1000]},
        )
        (second,) = until(lambda: claim(db, worker), what="the second job")

    assert second.job > first.job


def test_handlers_that_ignore_their_timeouts_keep_nobody_from_a_slot(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """They hold all four until the test lets them go; two of them count beside the slots."""
    for _ in range(4):
        db.execute("INSERT INTO fairlead.jobs (kind, timeout) VALUES ('waits', '100 ms')")
    dispatch_all(db)
    running.runs(4)

    assert ("succeeded", "hello", None) == ending(db, insert(db, "echo", "hello"))
    assert 4 == len(running.running())
    until(lambda: slotless(running) == 2, what="the report")

    lock.close()
    until(lambda: not running.running(), what="their end")
    until(lambda: slotless(running) == 0, what="the report of that")


def slotless(running: RunningChild) -> int | None:
    """Return how many attempts had no slot in the child's last report."""
    reports = [each for each in running.received if isinstance(each, messages.Slotless)]
    return reports[-1].count if reports else None
