"""A kind of coroutines that blocks the event loop runs in processes of its own."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.child.stall_budget import BUDGET_SECONDS
from tests.chaos.fleet import Fleet
from tests.support.dispatching import dispatch_all
from tests.support.waiting import until
from tests.support.worker_children import children_of

pytestmark = pytest.mark.any_server


def run_stall(fleet: Fleet, db: Connection[TupleRow]) -> int:
    """Run a job that blocks the loop for too long; return its process."""
    (job,) = fleet.insert("stall", int(2000 * BUDGET_SECONDS))
    dispatch_all(db)
    fleet.wait_until_done(20)
    (pid,) = {each.pid for each in fleet.events() if each.job == job}
    return pid


def test_a_kind_that_blocks_the_loop_leaves_every_child(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Those that start later are told as well; what waits on the loop stays there."""
    worker = fleet.worker(concurrency=2)
    children = {*children_of(worker.pid)}
    assert run_stall(fleet, db) in children
    until(lambda: worker.said("kind.isolated"), what="its isolation")

    (poison,) = fleet.insert("poison", 0)  # takes the child along
    dispatch_all(db)
    fleet.wait_until_done(60)
    pid = run_stall(fleet, db)
    naps = {*fleet.insert("nap", 1)}
    dispatch_all(db)
    fleet.wait_until_done(20)

    later = {*children_of(worker.pid)}
    assert pid not in children | later
    assert later >= {each.pid for each in fleet.events() if each.job in naps}
    assert {"failed"} == {each.outcome for each in fleet.ended() if each.job == poison}


def test_a_worker_that_may_not_isolate_kinds_says_only_who_blocks(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Handlers that share memory with others keep it."""
    fleet.environment = {"FAIRLEAD_ISOLATE_BLOCKING_KINDS": "false"}
    worker = fleet.worker(concurrency=2)
    children = {*children_of(worker.pid)}

    assert children >= {run_stall(fleet, db), run_stall(fleet, db)}
    assert (True, False) == (worker.said("loop.stalled"), worker.said("kind.isolated"))
