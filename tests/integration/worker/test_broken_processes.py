"""Handlers that return and leave their process broken: it is found and replaced."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


def breakable(fleet: Fleet, concurrency: int = 4) -> Program:
    """Start a worker whose handlers break its processes."""
    more = "--app tests.support.breaking_app:tasks --health-port 0"
    return fleet.worker(concurrency=concurrency, more=more)


@pytest.mark.parametrize("kind", ["leaks", "lowers"])
def test_a_child_that_can_connect_no_more_is_replaced(
    fleet: Fleet, db: Connection[TupleRow], kind: str
) -> None:
    """It lives, overruns nothing and would never run anything again; its parent can connect."""
    worker = breakable(fleet)
    fleet.insert(kind, 0)
    dispatch_all(db)
    fleet.wait_until_done(20)

    for connections in ("fairlead worker endings", "fairlead worker claims"):
        fleet.terminate(connections)
    later = fleet.insert("quick", 0)
    dispatch_all(db)
    until(lambda: worker.said("child.cut_off"), what="the end of the child", seconds=40)
    fleet.wait_until_done(30)

    assert 1 == len([each for each in fleet.ended() if each.job in later])
    until(lambda: page(listening_port(worker.pid), "readyz") == "ok", what="readiness")
