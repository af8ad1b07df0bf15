"""The programs without metrics run jobs, count nothing, and leave nothing else out."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet
from tests.support.health import listening_port, page
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_LOOKS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'fairlead scheduler scans' AND datname = current_database()
      AND query ~ 'gauges|dead_jobs|sessions|tables'
"""


def renewals(port: int) -> float:
    """Return how often a worker has renewed its lease."""
    lines = page(port, "metrics").splitlines()
    name = 'fairlead_lease_renewals_total{result="renewed"} '
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def test_a_blind_fleet_does_its_jobs_and_counts_none(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Neither do the worker's children count, nor does the leader read anything for gauges."""
    fleet.start("scheduler", "bench.blind.scheduler")
    worker = fleet.start(
        "worker",
        "bench.blind.worker",
        *("--app", "tests.chaos.app:tasks", "--concurrency", "4", "--health-port", "0"),
    )
    jobs = fleet.insert("nap", 0, 20)
    fleet.wait_until_done(60)
    port = listening_port(worker.pid)
    renewed = renewals(port)
    # Children tell what they have counted once a second, and leases are renewed more often.
    until(lambda: renewals(port) > renewed + 3, what="a child's word", seconds=60)
    shown = page(port, "metrics")
    row = db.execute(_LOOKS).fetchone()

    assert 20 == len([each for each in fleet.ended() if each.job in jobs])
    counted = ("jobs_started_total{", "job_run_seconds_count{", "claim_duration_seconds_count")
    assert [] == [name for name in counted if f"\nfairlead_{name}" in shown]
    assert "\nfairlead_claim_empty_total 0.0" in shown
    assert "\nfairlead_lease_renewals_total" in shown
    assert row == (0,)
