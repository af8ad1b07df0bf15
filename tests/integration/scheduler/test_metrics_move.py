"""Every series moves when what it counts happens: real programs, a real database, real events.

A series that only another test can move is in `ELSEWHERE`, with that test's file and what it
says there.
"""

from collections.abc import Callable

import pytest

from fairlead import policy_storage
from fairlead.metrics.series import (
    BUILD_INFO,
    GENERATION,
    LEADER,
    LEADER_TRANSITIONS,
    RELOAD_SUCCESSFUL,
    RELOADED_AT,
    Series,
)
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.kube.port import ConflictError, UnreachableError
from fairlead_autoscaler.metrics import series as autoscaler
from fairlead_scheduler.metrics import series as scheduler
from fairlead_worker.metrics import series as worker
from fairlead_worker.parent.crash_breaker import FAULTS_MAX
from tests.chaos.fleet import Fleet
from tests.conftest import Connect
from tests.support import tree
from tests.support.children import register
from tests.support.controlling import DEPLOYMENT, POLICY, POOL, Scene, targets_of
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.moving import Movements, page_of
from tests.support.race import Database, cancel, claim_one, insert_one, let_lapse, places
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until
from tests.support.working import working

pytestmark = pytest.mark.any_server

LIMIT = 5
FEW = POLICY.replace("max: 20", "max: 5")
GOVERNED = f"""
queues:
  - match: {{queue: default}}
    tenants:
      overrides:
        - {{match: {{tenant: loud}}, slots: {{limit: 1}}}}
        - {{match: {{tenant: full}}, backlog: {{limit: {LIMIT}}}}}
rules:
  - {{name: always, match: {{tenant: unknown}}, when: workers.slots >= 0, hold: true}}
"""
ELSEWHERE: dict[Series, tuple[str, str]] = {
    scheduler.OVERFLOW: (
        "integration/scheduler/test_pools.py",
        "fairlead_scheduler_overflow_total",
    ),
    scheduler.POOL_OBJECTIVE: (
        "integration/scheduler/test_objectives.py",
        "fairlead_pool_objective_seconds",
    ),
    # Of one queue, or of queues that are even, it is zero.
    scheduler.QUEUE_LAG: (
        "unit/scheduler/report/test_maxmin.py",
        "fairlead_queue_lag_slot_seconds",
    ),
    scheduler.TENANTS_OVER_LANES: (
        "integration/scheduler/test_many_lanes.py",
        "fairlead_tenants_over_lanes",
    ),
    scheduler.LANES_UNWATCHED: (
        "integration/scheduler/test_late_commits.py",
        "fairlead_lanes_unwatched",
    ),
    scheduler.UNCHECKED: (
        "integration/core/test_bad_rows_fleet.py",
        "fairlead_jobs_unchecked_total",
    ),
    scheduler.WAKES_LEFT_OUT: (
        "integration/core/test_full_notifications.py",
        "fairlead_wakes_left_out_total",
    ),
    scheduler.UNHANDLED: (
        "integration/worker/test_unhandled_kinds.py",
        "fairlead_unhandled_jobs",
    ),
    scheduler.BATCHES: (
        "integration/scheduler/test_database_health.py",
        'leader.shown("batches"',
    ),
    scheduler.BATCHES_AGE: (
        "integration/scheduler/test_database_health.py",
        'leader.shown("batches_oldest_age_seconds"',
    ),
    scheduler.EVICTIONS: (
        "integration/scheduler/test_evictions.py",
        "fairlead_evictions_total",
    ),
    scheduler.CRON_REFUSED: (
        "integration/scheduler/test_admission.py",
        "fairlead_cron_refused_total",
    ),
    scheduler.CRON_DELAYED: (
        "attacks/test_enqueue_schedules.py",
        "fairlead_cron_delayed_total",
    ),
    scheduler.CRON_PASSED_OVER: (
        "attacks/test_enqueue_schedules.py",
        "fairlead_cron_passed_over_total",
    ),
    scheduler.CRON_SET_ASIDE: (
        "integration/scheduler/test_cron_too_slow.py",
        "fairlead_cron_set_aside_total",
    ),
    scheduler.RULE_OVERRUNS: (
        "unit/scheduler/rules/test_evaluator.py",
        "fairlead_policy_rule_overruns_total",
    ),
    scheduler.RULE_ERRORS: (
        "unit/scheduler/rules/test_evaluator.py",
        "fairlead_policy_rule_errors_total",
    ),
    scheduler.SHADOW_MOVED: ("integration/scheduler/test_shadow.py", 'value("moved_share"'),
    scheduler.SHADOW_WAIT: ("integration/scheduler/test_shadow.py", 'value("wait_p99_seconds"'),
    scheduler.SHADOW_AT: ("integration/scheduler/test_shadow.py", 'value("timestamp_seconds"'),
    scheduler.SHADOW_FAILED: ("integration/scheduler/test_shadow.py", 'value("failed_total"'),
    autoscaler.CANNOT_LEAD: (
        "integration/autoscaler/test_two_releases.py",
        "fairlead_autoscaler_cannot_lead",
    ),
    # A pod is a wrong victim once another has been there for ten seconds too long.
    autoscaler.WRONG_VICTIMS: (
        "unit/autoscaler/metrics/test_registry.py",
        "fairlead_autoscaler_wrong_victims_total",
    ),
}


def many_queues(db: Database) -> None:
    """Insert a job into each of more queues than get a label of their own."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, kind, payload)"
        " SELECT 'q' || n, 'nap', '{\"ms\": 0}' FROM generate_series(1, 60) n"
    )


def insert(db: Database, count: int, *tenants: str) -> None:
    """Insert so many jobs of each tenant."""
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind)"
        " SELECT tenant, 'noop' FROM unnest(%s::text[]) tenant, generate_series(1, %s)",
        [list(tenants), count],
    )


def test_every_series_of_a_worker_moves(fleet: Fleet, db: Database) -> None:
    """Jobs that end well and badly, a child that dies, a lost lease, a stale end, a drain."""
    program = fleet.worker(concurrency=4, more="--health-port 0")
    port = listening_port(program.pid)
    moved = Movements(worker.SERIES, lambda: page(port, "metrics"))

    def now(*series: Series, what: str) -> None:
        dispatch_all(db)
        moved.await_all(*series, what=what)

    many_queues(db)
    now(worker.JOBS_STARTED, worker.JOBS_FINISHED, what="jobs being counted")
    now(worker.JOB_WAIT, worker.JOB_RUN, what="their times")
    now(worker.SERIES_DROPPED, worker.ATTEMPTS_ENDED, what="queues beyond those with a label")
    now(worker.CLAIM_BATCH, worker.CLAIM_DURATION, worker.CLAIM_EMPTY, what="claims")
    now(worker.FINISH_BATCH, worker.FINISH_DURATION, what="endings being written")
    fleet.insert("stall", 300)
    now(worker.LOOP_STALLS, what="a blocked loop")
    for _ in range(FAULTS_MAX):
        fleet.insert("poison", 0)
    now(worker.CHILD_DEATHS, worker.JOBS_INTERRUPTED, what="a child's death")
    now(worker.CRASH_BREAKERS_OPEN, worker.CRASH_BREAKER_OPENINGS, what="deaths of one kind")
    fleet.wait_until_done(30)
    (job,) = fleet.insert("held", 0)
    now(worker.WORKER_SLOTS_BUSY, worker.LONGEST_RUNNING, what="a job that runs")
    db.execute(
        "UPDATE fairlead.work_queue SET token = token + 1000000 WHERE job_id = %s", [job]
    )
    fleet.release()
    now(worker.STALE_WRITES, what="an ending under an old token")
    db.execute("DELETE FROM fairlead.work_queue")
    db.execute("DELETE FROM fairlead.jobs")
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now()")
    moved.await_all(worker.LEASES_LOST, what="the worker's noticing it")
    until(lambda: has_lease(db), what="a new lease", seconds=30)
    fleet.insert("deaf", 3000)
    dispatch_all(db)
    until(lambda: 'worker_slots_busy{pool="default"} 1.0' in page(port, "metrics"), what="work")
    program.process.terminate()
    now(worker.WORKER_DRAINING, worker.DRAIN_DURATION, what="a drain")

    assert set() == moved.still


def has_lease(db: Database) -> bool:
    """Tell whether some worker's lease is in force."""
    row = db.execute(
        "SELECT bool_or(w.lease_until >= now() AND w.dead_at IS NULL)"
        " FROM fairlead.worker_leases w"
    ).fetchone()
    return row is not None and bool(row[0])


def test_every_series_of_a_leader_moves(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Many tenants, a death, limits, a held snapshot, schedules, policies, faults."""
    history(db)
    policy_storage.store(db, GOVERNED)
    at_work = register(db, slots=10)
    quick = {"report_seconds": 1.0, "lease_seconds": 1.5, "renew_seconds": 0.4}
    with scheduling(database_url, margin_seconds=0.2, **quick) as replica:
        moved = Movements(scheduler.SERIES, lambda: page_of(replica.metrics.registry))
        led(db)
        snapshot = connect(autocommit=False)
        snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        snapshot.execute("SELECT 1")
        moved.await_all(*let_one_die(db), what="a death")
        with working(connect, at_work, pause_seconds=0.03):
            moved.await_all(*insert_for_queues(db), what="queues")
            moved.await_all(*insert_for_tenants(db), what="tenants")
            moved.await_all(*miss_fires(db), what="missed fires")
            db.execute("SELECT fairlead.apply_policy('queues: 3', '0123456789ab')")
            moved.await_all(scheduler.POLICY_REFUSED, what="a refusal")
            with db.transaction():
                db.execute("LOCK TABLE fairlead.schedules IN ACCESS EXCLUSIVE MODE")
                moved.await_all(scheduler.TASK_FAILURES, what="a statement being cut off")
            rest = moved.still - ELSEWHERE.keys()
            said = ", ".join(each.name for each in rest)
            moved.await_all(*rest, what=said, seconds=60)
        snapshot.rollback()

    assert moved.still <= ELSEWHERE.keys()


def history(db: Database) -> None:
    """Have a job that failed for good, and dead rows, before anybody looks."""
    db.execute(
        "INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,"
        " crashes, losses, priority, outcome, queue, tenant, kind, payload) VALUES"
        " (1000000000, now(), now(), 1, 1, 0, 0, 0, 'failed', 'default', 't', 'noop', '{}')"
    )
    insert(db, 100, "gone")
    db.execute("DELETE FROM fairlead.jobs WHERE tenant = 'gone'")
    db.execute("SELECT pg_stat_force_next_flush()")


def let_one_die(db: Database) -> tuple[Series, ...]:
    """Let a worker die under a job."""
    doomed = register(db)
    job = insert_one(db)
    until(lambda: places(db, job) == ("queued",), what="a dispatch", seconds=60)
    claim_one(db, doomed)
    let_lapse(db, doomed)
    return scheduler.ATTEMPTS_ENDED, scheduler.LEASE_EXPIRATIONS, scheduler.JOBS_RESCUED


def insert_for_queues(db: Database) -> tuple[Series, ...]:
    """Insert jobs into many queues, for now, for soon and for later."""
    many_queues(db)
    for delay in ("0.3 s", "30 s"):
        db.execute(
            "INSERT INTO fairlead.jobs (kind, run_at) VALUES ('noop', now() + %s::interval)",
            [delay],
        )
    return (
        *(scheduler.SERIES_DROPPED, scheduler.PROMOTE_BATCH, scheduler.SCHEDULED_NEXT),
        *(scheduler.JOBS_RUNNABLE, scheduler.DISPATCHED, scheduler.QUEUE_DEPTH),
        *(scheduler.SNAPSHOT_AT, scheduler.SNAPSHOT_DURATION, scheduler.DEAD_JOBS),
    )


def insert_for_tenants(db: Database) -> tuple[Series, ...]:
    """Insert more than is done soon, some of it held back; cancel what has not started."""
    db.execute("SELECT fairlead.pause('default', 'full')")
    insert(db, LIMIT, "full")
    insert(db, 20_000, "light", "heavy")
    later = db.execute(
        "INSERT INTO fairlead.jobs (kind, run_at) VALUES ('noop', now() + interval '1 h')"
        " RETURNING id"
    ).fetchone()
    assert later is not None
    cancel(db, int(later[0]))
    return (
        *(scheduler.TENANT_SHARE, scheduler.TENANT_ENTITLED, scheduler.TENANTS, scheduler.JAIN),
        *(scheduler.LANES_BLOCKED, scheduler.LANES_OVER_BACKLOG, scheduler.BACKLOG_AGE),
        scheduler.JOBS_FINISHED,
    )


def miss_fires(db: Database) -> tuple[Series, ...]:
    """Let a schedule have been considered last an hour ago."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, missed, kind, considered_until)"
        " VALUES ('late', '* * * * *', 'skip', 'noop', now() - interval '1 hour')"
    )
    return (scheduler.CRON_MISSED,)


def test_what_moves_elsewhere_is_looked_at_there() -> None:
    """Each test that is named says so in its own text."""
    folder = tree.ROOT / "tests"

    assert [] == [
        series.name
        for series, (file, words) in ELSEWHERE.items()
        if words not in (folder / file).read_text("utf-8")
    ]


def test_every_series_of_a_controller_moves(scene: Scene) -> None:
    """Up, down, beyond the most, faults, silence, a switch."""
    scene.options = Options(
        holder="me", targets=targets_of({POOL: DEPLOYMENT}), syncs_policy=True
    )
    scene.controller = scene.another()
    moved = Movements(autoscaler.SERIES, lambda: page_of(scene.metrics.registry))
    steps: tuple[tuple[Callable[[Scene], None], tuple[Series, ...]], ...] = (
        (follow, (RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION, LEADER, LEADER_TRANSITIONS)),
        (clash, (autoscaler.CONFLICTS, autoscaler.ERRORS)),
        (grow, (*autoscaler.OF_POOLS[:6], autoscaler.ACTIONS, autoscaler.ACTION_REPLICAS)),
        (grow, (autoscaler.POD_START, autoscaler.RECONCILE)),
        (fall_silent, (autoscaler.STALE,)),
        (shrink, (autoscaler.VICTIMS,)),
        (pause, (autoscaler.PAUSED, BUILD_INFO)),
    )
    for cause, series in steps:
        cause(scene)
        moved.look()
        assert moved.still.isdisjoint(series), [each.name for each in moved.still & {*series}]

    assert {autoscaler.WRONG_VICTIMS, autoscaler.CANNOT_LEAD} == moved.still


def follow(scene: Scene) -> None:
    """Let the policy's ConfigMap have a document."""
    scene.kube.edit(live=FEW)
    scene.step()


def clash(scene: Scene) -> None:
    """Let a write meet another's, and the status not be written at the step after it."""
    scene.kube.fail("apply_scale", ConflictError("it has changed"))
    scene.kube.fail("write_status", UnreachableError("no route"))
    scene.need(slots=200, work=20_000.0)
    scene.step(2)


def grow(scene: Scene) -> None:
    """Let more be needed than the pool may have, and the pods that are asked for come."""
    scene.need(slots=200, work=20_000.0)
    scene.step()
    scene.start()
    scene.step()


def shrink(scene: Scene) -> None:
    """Let nothing be needed, and the pods that are empty then be taken away."""
    scene.emptied()
    scene.step()


def fall_silent(scene: Scene) -> None:
    """Let the scheduler's word be a minute old."""
    scene.db.execute("UPDATE fairlead.pool_demand SET at = at - interval '1 minute'")
    scene.step()


def pause(scene: Scene) -> None:
    """Switch the pool off."""
    scene.kube.edit(live=FEW.replace("{objective", "{pause: true, objective"))
    scene.step(2)
