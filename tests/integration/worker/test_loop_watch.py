"""A handler that blocks the event loop is found, named, charged and moved to a process."""

import json
import re

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.child.stall_budget import BUDGET_SECONDS
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import BLOCKS, AttemptEntry
from fairlead_worker.metrics import series
from tests.support.children import RunningChild, ending
from tests.support.dispatching import dispatch_all, insert
from tests.support.waiting import until

BLOCKED_SECONDS = 1.0
SLOTS = 4


def charged_seconds(db: Connection[TupleRow], job_id: int) -> float:
    """Wait for a job's ending; return the run time that the leader will charge for it."""
    ending(db, job_id)
    row = db.execute(
        "SELECT e.us / 1e6 FROM fairlead.receipts r,"
        " unnest(r.ended, r.run_us) AS e (job_id, us) WHERE e.job_id = %s",
        [job_id],
    ).fetchone()
    assert row is not None
    return float(row[0])


def stalls(running: RunningChild) -> list[dict[str, object]]:
    """Return what a child has logged of stalls."""
    lines = [line for line in running.log if '"loop.stalled"' in line]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("kind", ["blocks", "blocks_within", "computes"])
def test_the_blocker_is_named_and_charged_and_its_neighbours_are_not(
    running: RunningChild, db: Connection[TupleRow], kind: str
) -> None:
    """In its coroutine, in a task of its own, or without letting go of the interpreter."""
    neighbour = insert(db, "naps", 0.2)
    running.runs()

    blocker = insert(db, kind, BLOCKED_SECONDS)

    charged = charged_seconds(db, blocker)
    assert charged >= 0.9 * BLOCKED_SECONDS
    assert charged_seconds(db, neighbour) < 0.2 + 0.5 * charged
    stall = until(lambda: stalls(running), what="a line in the log")[0]
    assert (kind, blocker) == (stall["kind"], stall["job"])
    assert re.search(r"child_app\.py:\d+ in ", str(stall["line"]))
    until(lambda: running.counted(series.LOOP_STALLS.name, "default", kind), what="a count")


def test_a_neighbour_does_not_time_out_while_it_could_not_go_on(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Its deadline moves meanwhile, where the parent reads it and where the leader does."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, timeout) VALUES ('naps', '0.5', '0.9 s')"
    )
    (neighbour,) = dispatch_all(db)
    (before,) = running.runs()

    insert(db, "blocks", 3.0)
    (blocker,) = until(lambda: marked(running), what="the blocker's mark")
    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.work_queue"
            " WHERE job_id = %s AND deadline > claimed_at + interval '2 seconds'",
            [neighbour],
        ).fetchone(),
        what="a later deadline in the database",
    )
    (during,) = (entry for entry in running.running() if entry.token == before.token)

    assert "succeeded" == ending(db, neighbour)[0]
    assert "succeeded" == ending(db, blocker.job_id)[0]
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()
    assert during.deadline_us > before.deadline_us + 1_000_000
    assert [] == marked(running)


def marked(running: RunningChild) -> list[AttemptEntry]:
    """Return what blocks the loop, as the parent reads it."""
    return [entry for entry in running.running() if entry.flags & BLOCKS]


def test_a_stall_is_counted_and_named_before_it_is_over(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Its process may not live until then."""
    job = insert(db, "blocks", 600.0)

    until(lambda: running.counted(series.LOOP_STALLS.name, "default", "blocks"), what="a count")
    line = until(
        lambda: next((each for each in running.log if '"loop.blocked"' in each), None),
        what="a line in the log",
    )

    assert ("blocks", job) == (json.loads(line)["kind"], json.loads(line)["job"])
    assert [job] == [entry.job_id for entry in running.running()]


def test_short_blocks_of_one_kind_in_one_turn_are_one_stall(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Together they keep the loop for as long as one would."""
    jobs = [insert(db, "blocks_together", 4) for _ in range(4)]
    for job in jobs:
        ending(db, job)

    until(
        lambda: running.counted(series.LOOP_STALLS.name, "default", "blocks_together"),
        what="a count of the stall",
    )


def test_coroutines_that_wait_are_no_blockers(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """However long they wait."""
    jobs = [insert(db, "naps", 0.5) for _ in range(4)]
    for job in jobs:
        assert charged_seconds(db, job) >= 0.45

    assert [] == stalls(running)


def test_a_kind_that_blocks_is_reported_while_it_does_and_none_of_it_follows(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Neither what has a slot by then nor what waits for one."""
    for _ in range(2 * SLOTS):
        insert(db, "blocks", BLOCKED_SECONDS)
    (entry,) = running.runs()
    assert messages.LoopBlocked("blocks") == running.receives(messages.LoopBlocked)
    assert [entry.key] == [each.key for each in running.running()]

    running.send(messages.IsolateKinds(("blocks",)))
    jobs = [row[0] for row in db.execute("SELECT id FROM fairlead.jobs ORDER BY id")]
    pids = [ending(db, job)[1] for job in jobs]

    assert 1 == pids.count(running.process.pid)
    assert 1 == len(stalls(running))


def test_a_kind_that_blocks_again_and_again_is_reported_and_then_runs_in_a_process(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """The parent decides, for all its children; other kinds stay where they are."""
    for _ in range(2):
        ending(db, insert(db, "blocks", 0.7 * BUDGET_SECONDS))
    assert messages.LoopBlocked("blocks") == running.receives(messages.LoopBlocked)

    running.send(messages.IsolateKinds(("blocks", "unknown")))
    moved = [ending(db, insert(db, "blocks", 0.3))[1] for _ in range(2)]
    stayed = ending(db, insert(db, "blocks_within", 0.3))[1]

    assert running.process.pid == stayed
    assert running.process.pid not in moved
    assert 1 == len({*moved})  # the process and its loop are used again

    running.send(messages.IsolateKinds(()))
    assert running.process.pid == ending(db, insert(db, "blocks", 0.0))[1]


def test_while_the_loop_is_blocked_nothing_is_claimed(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """It could not begin, and another process may have room for it."""
    blocker = insert(db, "blocks", BLOCKED_SECONDS)
    running.receives(messages.LoopBlocked)

    waiting = insert(db, "echo")

    ending(db, waiting)
    assert [(True,)] == db.execute(
        "SELECT w.claimed_at > b.claimed_at + %s * interval '0.8 s'"
        " FROM fairlead.job_history w, fairlead.job_history b WHERE w.id = %s AND b.id = %s",
        [BLOCKED_SECONDS, waiting, blocker],
    ).fetchall()
    claims = "SELECT count(*) FROM fairlead.receipts WHERE %s = ANY (claimed)"
    assert (1,) == db.execute(claims, [waiting]).fetchone()  # nor before, and handed back


def test_what_was_claimed_together_with_a_blocker_is_returned_while_it_blocks(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Another process may have room for it."""
    running.send(messages.PauseClaiming(1))
    running.receives(messages.ClaimingPaused)
    blocker = insert(db, "blocks", 2 * BLOCKED_SECONDS)
    waiting = insert(db, "echo")
    ((worker,),) = db.execute("SELECT id FROM fairlead.worker_leases").fetchall()
    running.send(messages.StartClaiming(worker))
    until(lambda: is_claimed(db, waiting), what="a claim of both")

    until(lambda: not is_claimed(db, waiting), what="its return")

    assert [blocker] == [entry.job_id for entry in running.running()]
    assert "succeeded" == ending(db, waiting)[0]


def is_claimed(db: Connection[TupleRow], job: int) -> bool:
    """Return whether a job is leased."""
    found = db.execute(
        "SELECT 1 FROM fairlead.work_queue WHERE job_id = %s AND worker IS NOT NULL", [job]
    )
    return found.fetchone() is not None


def test_a_coroutine_in_a_process_is_cancelled_where_it_waits(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """As it would be on the loop of its child."""
    running.send(messages.IsolateKinds(("forever",)))
    job = insert(db, "forever")
    (entry,) = running.runs()

    running.send(messages.Cancel((entry.key,)))

    assert ("cancelled", None, "cancelled while it ran") == ending(db, job)
    until(
        lambda: db.execute("SELECT 1 FROM seen WHERE what = 'cancelled'").fetchone(),
        what="the handler's noticing it",
    )
