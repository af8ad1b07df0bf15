"""Whole workers that are stopped or killed: what they have traced is sent, or lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.collector import LATE, Collector, collecting
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_INSERT = (
    "INSERT INTO fairlead.jobs (kind, payload) VALUES (%s, to_jsonb(%s::text)) RETURNING id"
)
_RUNS = "SELECT count(*) FROM fairlead.work_queue WHERE worker IS NOT NULL"
_HISTORY = "SELECT count(*) FROM fairlead.job_history"


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Yield a collector."""
    with collecting() as started:
        yield started


def worker(fleet: Fleet, name: str) -> Program:
    """Start a worker that runs the traced application, and wait until it may claim."""
    arguments = ["--app", "tests.support.traced_app:tasks", "--concurrency", "4"]
    program = fleet.start(name, "fairlead_worker.main", *arguments, "--name", name)
    until(lambda: program.said("child.ready"), what=f"{name} being ready", seconds=60)
    return program


def insert(db: Connection[TupleRow], kind: str, payload: str = "") -> int:
    """Insert a job."""
    row = db.execute(_INSERT, [kind, payload]).fetchone()
    assert row is not None
    return int(row[0])


def test_a_worker_that_is_asked_to_stop_sends_what_it_has_traced(
    fleet: Fleet, collector: Collector, db: Connection[TupleRow]
) -> None:
    """After SIGTERM, within its grace: of every child, and of its handlers' processes."""
    fleet.environment = {**collector.environment, **LATE}
    fleet.scheduler()
    stopping = worker(fleet, "stopping")
    jobs = [insert(db, kind) for kind in ("on_loop", "in_thread", "in_process")]
    until(lambda: db.execute(_HISTORY).fetchone() == (3,), what="three endings", seconds=30)
    assert [] == collector.spans

    assert 0 == stopping.stop()

    runs = collector.of("process default")
    assert sorted(jobs) == sorted(each.job_id for each in runs)
    assert 4 == len(collector.of("inner"))
    assert not stopping.said("traces.cut_off")


def test_a_killed_workers_attempt_is_missing_and_its_retry_names_it(
    fleet: Fleet, collector: Collector, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """What was not sent yet is lost with the process; the job is not, nor is its trace."""
    fleet.environment = {**collector.environment, **LATE}
    fleet.scheduler()
    victim = worker(fleet, "victim")
    there = tmp_path / "there"
    job_id = insert(db, "until_there", str(there))
    until(lambda: db.execute(_RUNS).fetchone() == (1,), what="a start", seconds=30)
    fleet.await_lead()

    victim.kill()
    successor = worker(fleet, "successor")
    there.touch()
    until(lambda: db.execute(_HISTORY).fetchone() == (1,), what="its ending", seconds=30)
    assert 0 == successor.stop()

    (run,) = collector.of("process default")
    (former,) = run.links
    assert job_id == run.job_id
    assert run.trace_id == former.trace_id
    assert run.span_id != former.span_id
    assert "lost" == former.attributes["messaging.fairlead.ended_as"]


def test_a_workers_log_says_which_attempt_failed_in_which_trace(
    fleet: Fleet, collector: Collector, db: Connection[TupleRow]
) -> None:
    """Its own line, and what the handler logged by Python's logging."""
    fleet.environment = {**collector.environment, **LATE}
    fleet.scheduler()
    working = worker(fleet, "working")
    packed, failed = insert(db, "in_thread"), insert(db, "raises", "discard")
    until(lambda: db.execute(_HISTORY).fetchone() == (2,), what="two endings", seconds=30)
    assert 0 == working.stop()

    lines = [json.loads(line) for line in working.log.read_text("utf-8").splitlines()]

    said = {each["event"]: each for each in lines}
    runs = {each.job_id: each for each in collector.of("process default")}
    inner = {each.span_id for each in collector.of("inner")}
    for event, job_id in (("packed", packed), ("attempt.failed", failed)):
        line = said[event]
        assert (job_id, 1, "default", "") == tuple(
            line[name] for name in ("job", "attempt", "queue", "tenant")
        )
        assert runs[job_id].trace_id == line["trace_id"]
    assert {runs[failed].span_id} == {said["attempt.failed"]["span_id"]}
    assert said["packed"]["span_id"] not in inner  # it was logged before that began
    assert (7, "shop.orders") == (said["packed"]["order"], said["packed"]["logger"])
