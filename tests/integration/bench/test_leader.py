"""P8's comparisons for the scheduler: a bare dispatcher, and the scheduler with clocks."""

import sys
from pathlib import Path

import pytest

from bench import steps
from bench.floors.bare import Bare, lead
from bench.probe import FOLDER_VARIABLE
from bench.processes import start
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_INSERT = "INSERT INTO fairlead.jobs (tenant, kind) VALUES (%s, 'noop') RETURNING id"
_QUEUED = "SELECT job_id, queue, tenant FROM fairlead.work_queue ORDER BY vtag"


def insert(db: Database, tenant: str) -> int:
    """Insert a job of a tenant; return its id."""
    row = db.execute(_INSERT, [tenant]).fetchone()
    assert row is not None
    return int(row[0])


def test_a_bare_dispatcher_sends_every_job_once_as_a_scheduler_would(
    connect: Connect, db: Database
) -> None:
    """In the order of ids, with queue and tenant, where a worker can claim them."""
    jobs = [insert(db, tenant) for tenant in ("a", "b", "a")]
    connection = connect()
    bare = Bare(connection, lead(connection, "bare"))

    bare.step()
    later = insert(db, "c")
    bare.step()

    wanted = list(zip([*jobs, later], ["default"] * 4, ["a", "b", "a", "c"], strict=True))
    assert wanted == db.execute(_QUEUED).fetchall()
    assert 4 == len(claim(db, register(db, slots=100)))


def test_a_bare_dispatchers_tags_go_on_where_the_leader_before_was(
    connect: Connect, db: Database
) -> None:
    """Tags from 0 on would go to the middle of the index, and so would the next leader's."""
    insert(db, "a")
    db.execute("UPDATE fairlead.claim_floors SET vtag = 5000")
    connection = connect()

    Bare(connection, lead(connection, "bare")).step()

    assert [(5000,)] == db.execute("SELECT vtag FROM fairlead.work_queue").fetchall()


def test_the_clocks_of_a_live_scheduler_go(
    database_url: str, db: Database, tmp_path: Path
) -> None:
    """It dispatches as usual, and the CPU time of its steps can be read meanwhile."""
    insert(db, "a")
    register(db, slots=100)
    environment = {"FAIRLEAD_DATABASE_URL": database_url, FOLDER_VARIABLE: str(tmp_path)}
    argv = [sys.executable, "-m", "bench.steps"]
    leader = start("scheduler", argv, log=tmp_path / "log", environment=environment)
    try:
        until((tmp_path / steps.FILE).exists, what="the clocks being put", seconds=60)
        clocks = steps.Clocks(tmp_path)
        until(lambda: clocks.seconds()["dispatch"] > 0, what="a dispatch")
        used = clocks.seconds()
    finally:
        leader.stop()

    assert 1 == len(db.execute(_QUEUED).fetchall())
    assert all(used[key] > 0 for key in ("ask", "observe", "learn", "plan"))
    assert 0 == leader.process.returncode
