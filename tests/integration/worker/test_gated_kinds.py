"""Jobs that wait for their kind's `concurrency` take no slots from others."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from tests.chaos.fleet import Fleet
from tests.support.children import RunningChild
from tests.support.dispatching import insert_many
from tests.support.health import listening_port, page
from tests.support.waiting import until

SLOTS = 20
_INSERT = "INSERT INTO fairlead.jobs (tenant, kind) SELECT %s, %s FROM generate_series(1, %s)"
_CLAIMED = "SELECT count(worker) FROM fairlead.work_queue"
_WAITS = """
    SELECT max(extract(epoch FROM claimed_at - created_at))::float8
    FROM fairlead.job_history WHERE tenant = 'quick'
"""


def claimed(db: Connection[TupleRow]) -> int:
    """Return how many jobs are claimed."""
    row = db.execute(_CLAIMED).fetchone()
    assert row is not None
    return int(row[0])


def finished(db: Connection[TupleRow], kind: str) -> int:
    """Return how many jobs of a kind are finished."""
    row = db.execute(
        "SELECT count(*) FROM fairlead.job_history WHERE kind = %s", [kind]
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("kind", ["naps_in_turn", "naps_apart"])
@pytest.mark.parametrize("gated", [40, 400])
def test_quick_jobs_do_not_wait_behind_those_of_a_full_kind(
    fleet: Fleet, db: Connection[TupleRow], kind: str, gated: int
) -> None:
    """Another tenant's start within a second of their insert, whatever waits at the gate."""
    fleet.scheduler()
    arguments = ["--app", "tests.support.child_app:tasks", "--concurrency", str(SLOTS)]
    worker = fleet.start("worker", "fairlead_worker.main", *arguments)
    until(lambda: worker.said("child.ready"), what="a worker", seconds=60)
    db.execute(_INSERT, ["gated", kind, gated])
    until(lambda: finished(db, kind) >= 2, what="two jobs of the kind", seconds=30)

    db.execute(_INSERT, ["quick", "echo", 6])

    until(lambda: finished(db, "echo") == 6, what="the quick jobs", seconds=30)
    (waited,) = db.execute(_WAITS).fetchone() or (None,)
    assert waited is not None
    assert waited < 1


def test_another_tenants_backlog_goes_on_while_a_kind_is_full(
    fleet: Fleet, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Rows that wait for a gate are no part of the depth: slots would be idle behind them."""
    fleet.scheduler()
    arguments = ["--app", "tests.support.child_app:tasks", "--concurrency", str(SLOTS)]
    worker = fleet.start("worker", "fairlead_worker.main", *arguments)
    until(lambda: worker.said("child.ready"), what="a worker", seconds=60)
    db.execute(_INSERT, ["gated", "gated", 400])
    until(lambda: claimed(db), what="a claim")

    db.execute(_INSERT, ["busy", "echo", 3000])

    until(lambda: finished(db, "echo") == 3000, what="the backlog", seconds=30)
    ((gated,),) = db.execute(
        "SELECT count(*) FROM fairlead.work_queue WHERE tenant = 'gated'"
    ).fetchall()
    assert gated < 200
    lock.close()
    until(lambda: finished(db, "gated") == 400, what="the gated jobs", seconds=30)


def test_a_lane_of_a_full_kind_is_said_to_be_full(
    fleet: Fleet, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """In explain, in the report and in the metric: nobody has paused it, so none can resume."""
    db.execute("SELECT fairlead.apply_policy('fairness: {reserve: null}', '0123456789ab')")
    arguments = ["--app", "tests.support.child_app:tasks", "--concurrency", "4"]
    scheduler = fleet.start("scheduler", "fairlead_scheduler.main", "--health-port", "0")
    worker = fleet.start("worker", "fairlead_worker.main", *arguments)
    until(lambda: worker.said("child.ready"), what="a worker", seconds=60)
    db.execute(_INSERT, ["gated", "gated", 400])
    newest = "SELECT fairlead.explain(max(id)) FROM fairlead.jobs"
    reported = "SELECT blocked_by FROM fairlead.tenant_shares WHERE tenant = 'gated'"

    def series() -> str:
        return page(listening_port(scheduler.pid), "metrics")

    until(lambda: db.execute(reported).fetchone() == ("full",), what="a report", seconds=30)
    until(lambda: 'lanes_blocked{reason="full"} 1.0' in series(), what="the metric")
    until(lambda: "asked" not in db.execute(newest).fetchall()[0][0], what="an answer")
    answer = db.execute(newest).fetchall()[0][0]
    passed_over = (
        "SELECT fairlead.explain(min(job_id)) FROM fairlead.work_queue WHERE worker IS NULL"
    )
    until(lambda: "asked" not in db.execute(passed_over).fetchall()[0][0], what="an answer")
    queued = db.execute(passed_over).fetchall()[0][0]

    assert ("queued", "full") == (queued["state"], queued["blocked_by"])
    for each in (queued, answer):
        assert "its `concurrency` is reached" in each["sentence"]
    assert 'lanes_blocked{reason="paused"} 0.0' in series()
    assert "full" == answer["blocked_by"]
    assert {"full"} == {*answer["waited"]["tenant"]["blocked_seconds"]}
    db.execute("SELECT fairlead.pause('default', 'gated')")
    until(lambda: db.execute(reported).fetchone() == ("paused",), what="a pause", seconds=30)
    until(lambda: 'lanes_blocked{reason="paused"} 1.0' in series(), what="the metric")
    lock.close()


def test_no_more_of_a_full_kind_is_claimed_until_it_has_room(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """What was claimed beside it waits without a slot; the rest stays for other workers."""
    jobs = insert_many(db, "gated", 8)
    running.runs(1)
    until(lambda: running.receives(messages.Slotless).count > 0, what="the report")
    held = claimed(db)

    echoed = insert_many(db, "echo", 3)

    until(lambda: finished(db, "echo") == len(echoed), what="jobs of another kind")
    assert held == claimed(db) <= 4
    lock.close()
    until(lambda: finished(db, "gated") == len(jobs), what="the end of all")
    assert [(True,)] == db.execute(
        "SELECT bool_and(run_us[1] < 5000000) FROM fairlead.receipts WHERE ended IS NOT NULL"
    ).fetchall()
