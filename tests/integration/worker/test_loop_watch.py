"""A handler that blocks the event loop is found, named, charged and moved to a process."""

import json
import re

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.child.stall_budget import STALLS_MAX
from fairlead_worker.ipc import messages
from fairlead_worker.metrics import series
from tests.support.children import RunningChild, ending
from tests.support.dispatching import insert
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

BLOCKED_SECONDS = 1.0


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


def test_a_kind_that_blocks_again_and_again_is_reported_and_then_runs_in_a_process(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """The parent decides, for all its children; other kinds stay where they are."""
    for _ in range(STALLS_MAX):
        ending(db, insert(db, "blocks", 0.3))
    assert messages.LoopBlocked("blocks") == running.receives(messages.LoopBlocked)

    running.send(messages.IsolateKinds(("blocks", "unknown")))
    moved = [ending(db, insert(db, "blocks", 0.3))[1] for _ in range(2)]
    stayed = ending(db, insert(db, "blocks_within", 0.3))[1]

    assert running.process.pid == stayed
    assert running.process.pid not in moved
    assert 1 == len({*moved})  # the process and its loop are used again


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
