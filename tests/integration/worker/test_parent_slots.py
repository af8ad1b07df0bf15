"""A worker offers the slots of children that can run something, and no others."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos import fleet as programs
from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.programs import forked
from tests.support.waiting import until
from tests.support.worker_children import children_of

pytestmark = pytest.mark.any_server


@dataclass(frozen=True, slots=True)
class Gated:
    """A fleet whose application loads while the gate's file is there."""

    fleet: Fleet
    gate: Path

    def worker(self) -> Program:
        """Start a worker of four slots, and wait until its child loads the application."""
        program = self.fleet.start(
            "slow",
            "fairlead_worker.main",
            *("--app", "tests.support.slow_app:tasks", "--concurrency", "4"),
            *("--health-port", "0"),
        )
        awaited = self.gate.with_suffix(".awaited")
        until(awaited.exists, what="a child that loads", seconds=20)
        return program


@pytest.fixture
def gated(database_url: str, tmp_path: Path) -> Iterator[Gated]:
    """Yield a fleet whose gate is closed."""
    gate = tmp_path / "gate"
    with programs.fleet(
        database_url, tmp_path, {"SLOW_APP_GATE": str(gate)}, starts=forked
    ) as made:
        yield Gated(made, gate)


def slots(db: Connection[TupleRow]) -> list[int]:
    """Return the slots of every live worker."""
    rows = db.execute("SELECT slots FROM fairlead.workers WHERE state = 'live'").fetchall()
    return [int(row[0]) for row in rows]


def slots_full(db: Connection[TupleRow]) -> list[int]:
    """Return the full slots of every live worker."""
    query = "SELECT slots_full FROM fairlead.workers WHERE state = 'live'"
    return [int(row[0]) for row in db.execute(query).fetchall()]


def test_a_worker_is_no_capacity_until_its_application_is_loaded(
    gated: Gated, db: Connection[TupleRow]
) -> None:
    """It registers when a child is ready, and is ready itself when that may claim."""
    worker = gated.worker()
    before, health = slots(db), page(listening_port(worker.pid), "readyz")

    gated.gate.touch()
    until(lambda: worker.said("child.ready"), what="a child that may claim", seconds=20)

    assert ([], [4]) == (before, slots(db))
    assert health.startswith("not ready")
    assert "ok" == page(listening_port(worker.pid), "readyz")


def test_a_child_that_is_replaced_offers_no_slots_meanwhile(
    gated: Gated, db: Connection[TupleRow]
) -> None:
    """After a child's death its slots are gone until the next one has loaded.

    The row keeps the full number all the same: the autoscaler counts pods by it.
    """
    gated.gate.touch()
    worker = gated.worker()
    until(lambda: slots(db) == [4], what="four slots", seconds=20)
    gated.gate.unlink()

    worker.kill_child(random.Random(0))

    until(lambda: slots(db) == [1], what="the fewest slots that a row may have")
    assert [4] == slots_full(db)
    gated.gate.touch()
    until(lambda: slots(db) == [4], what="four slots again")


def test_a_worker_that_stops_offers_no_slots(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It claims nothing more, so jobs dispatched for it would wait."""
    with programs.fleet(database_url, tmp_path, starts=forked) as made:
        worker = made.worker(more="--grace-seconds 10")
        made.insert("nap", 3000)
        dispatch_all(db)
        until(lambda: made.started(worker.process_tree()), what="a start")
        before = slots(db)

        worker.process.terminate()

        until(lambda: slots(db) == [1], what="the fewest slots that a row may have")
        assert [8] == before
        assert 0 == worker.process.wait(20)


def test_a_worker_with_one_slot_runs_nothing_beside_a_handler_that_does_not_stop(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """The next job waits for the process that is started in place of the handler's."""
    worker = fleet.worker(concurrency=1)
    (child,) = children_of(worker.pid)
    (deaf,) = fleet.insert("deaf", 60_000)
    db.execute(
        "UPDATE fairlead.jobs SET timeout = '0.1 s', max_attempts = 1 WHERE id = %s", [deaf]
    )
    dispatch_all(db)
    until(lambda: fleet.started((child,)), what="a start")

    (nap,) = fleet.insert("nap", 1)
    dispatch_all(db)
    fleet.wait_until_done(30)

    assert {deaf: "failed", nap: "succeeded"} == {
        each.job: each.outcome for each in fleet.ended()
    }
    assert {deaf} == {each.job for each in fleet.started((child,))}
