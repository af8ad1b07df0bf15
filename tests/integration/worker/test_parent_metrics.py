"""The parent counts what its children cannot: the attempts that died with them."""

import random

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


def shown(worker: Program) -> dict[str, float]:
    """Return the samples of a worker's page, by name and labels."""
    lines = page(listening_port(worker.pid), "metrics").splitlines()
    samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def test_a_job_that_kills_its_process_is_counted_like_any_other(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """A start, and a crash, for each death; in the end a job that failed."""
    labels = 'kind="poison",queue="default"'
    worker = fleet.worker(more="--health-port 0")
    fleet.insert("poison", 0)
    dispatch_all(db)
    fleet.wait_until_done(30)
    crashed = f'fairlead_attempts_ended_total{{ended_as="crashed",{labels}}}'
    until(lambda: shown(worker).get(crashed, 0) == 4, what="counting four crashes")
    samples = shown(worker)

    assert 4 == samples[f"fairlead_jobs_started_total{{{labels}}}"]
    finished = 'fairlead_jobs_finished_total{kind="poison",outcome="failed",queue="default"}'
    assert 1 == samples[finished]
    assert 4 == samples['fairlead_jobs_interrupted_total{reason="crashed"}']


def test_a_start_that_a_child_has_reported_is_counted_once(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """A child reports its starts once a second; those are not counted again at its death."""
    started = 'fairlead_jobs_started_total{kind="deaf",queue="default"}'
    worker = fleet.worker(more="--health-port 0")
    fleet.insert("deaf", 4000)
    dispatch_all(db)
    until(lambda: shown(worker).get(started) == 1, what="counting the start")
    worker.kill_child(random.Random(0))
    crashed = 'fairlead_attempts_ended_total{ended_as="crashed",kind="deaf",queue="default"}'
    until(lambda: shown(worker).get(crashed) == 1, what="counting the crash")

    fleet.wait_until_done(30)
    until(lambda: shown(worker)[started] == 2, what="counting the second start")
