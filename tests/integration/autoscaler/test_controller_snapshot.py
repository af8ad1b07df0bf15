"""What the controller's one statement says of workers, marks, loads, policy and queues."""

from collections.abc import Iterator
from typing import LiteralString

import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.db.migrate import migrate
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.database import Database, Deposed, DrainMarks
from fairlead_autoscaler.decision.fleet import is_long, remaining_seconds
from tests.support import bad_rows, race
from tests.support.controlling import Scene
from tests.support.logged import Lines
from tests.support.logins import LogIn, as_login

_MARKS_AND_DEMAND: tuple[tuple[LiteralString, LiteralString], ...] = (
    ("pod_drains", "drain_until = 'infinity'"),
    ("pod_drains", "drain_until = '-infinity', drained_at = '294276-12-31 23:59:59+00'"),
    ("pool_demand", "at = 'infinity'"),
    ("pool_demand", "oldest_runnable_at = '-infinity', service_mean = 'nan'"),
)
_ROWS = (
    *(row for row in bad_rows.OTHERS if row[0] in {"worker_leases", "policy_versions"}),
    *_MARKS_AND_DEMAND,
)
"""Those of the tables that it reads."""
_UNREADABLE = {
    "started_at = 'infinity', lease_until = 'infinity'",
    *(values for _, values in _MARKS_AND_DEMAND),
}
"""Those of which something is left out, and not merely dead or nothing to it."""


@pytest.fixture(params=[False, True], ids=["open", "isolated"])
def database(
    request: pytest.FixtureRequest,
    db: Connection[TupleRow],
    database_url: str,
    log_in: LogIn,
) -> Iterator[Database]:
    """Yield the session of a login with the role fairlead_autoscaler alone."""
    if request.param:
        migrate(db, rls=True)
    user = str(log_in("fairlead_autoscaler").info.user)
    opened = Database(DatabaseSettings(database_url=as_login(database_url, user)))
    yield opened
    opened.close()


def pod(db: Connection[TupleRow], uid: str) -> int:
    """Register a live worker of a pod; return its id."""
    me = race.register(db)
    db.execute(
        "UPDATE fairlead.worker_leases SET pod_uid = %s, slots = 5, slots_full = 20"
        " WHERE id = %s",
        [uid, me],
    )
    return me


def demand(db: Connection[TupleRow], *, mean: float, variance: float) -> None:
    """Store a demand in which the scheduler reports how long jobs take."""
    db.execute(
        "INSERT INTO fairlead.pool_demand (pool, epoch, at, became_runnable_total,"
        " work_slot_seconds, slots_useful, slots_allowed, scheduled_slot_seconds,"
        " service_mean, service_variance)"
        " VALUES ('default', 1, now(), 3, 4.5, 2, 8, '{1,2,3,4}', %s, %s)",
        [mean, variance],
    )


def test_the_snapshot_has_the_demand_that_the_scheduler_wrote(
    db: Connection[TupleRow], database: Database
) -> None:
    """Every column of `pool_demand`."""
    demand(db, mean=2.0, variance=1.0)
    (row,) = database.snapshot(known=None, asks_queues=False).demand.values()

    assert ("default", 3, 4.5, 2, 8) == (
        row.pool,
        row.became_runnable_total,
        row.work_slot_seconds,
        row.slots_useful,
        row.slots_allowed,
    )
    assert [1, 2, 3, 4] == list(row.scheduled_slot_seconds)
    assert row.oldest_runnable_at is None


@pytest.mark.parametrize(("estimate", "age"), [(60, 10), (60, 300), (1, 0), (1, 30)])
def test_what_pods_hold_is_estimated_as_the_decision_does(
    db: Connection[TupleRow], database: Database, estimate: float, age: float
) -> None:
    """By age, estimate and spread, for each pod together."""
    demand(db, mean=2.0, variance=1.0)
    me = pod(db, "uid-a")
    jobs = race.insert(db, count=3)
    race.dispatch(db, jobs, epoch=race.leading(db))
    race.claim(db, me)
    db.execute(
        "UPDATE fairlead.work_queue SET estimate_us = %s * 1000000,"
        " claimed_at = now() - %s * interval '1 s'",
        [estimate, age],
    )
    (load,) = database.snapshot(known=None, asks_queues=False).loads
    each = remaining_seconds(age=age, estimate=estimate, spread=0.25)

    assert ("uid-a", 3) == (load.pod_uid, load.jobs)
    assert 3 * is_long(each, 2.0) == load.long_jobs
    assert pytest.approx(each, abs=2) == load.longest_seconds
    assert pytest.approx(3 * each, abs=6) == load.slot_seconds


def test_a_marked_pod_is_seen_with_its_mark_until_it_is_removed(
    db: Connection[TupleRow], database: Database
) -> None:
    """A repeat moves the time on; only the newest epoch marks."""
    pod(db, "uid-a")
    epoch = database.begin_epoch("me")
    now = database.snapshot(known=None, asks_queues=False).now
    marks = DrainMarks(pool="default", pods=["uid-a"], fresh=["uid-a"], until=now)
    database.mark_drain(marks, epoch=epoch)
    database.mark_drain(marks, epoch=epoch)
    (worker,) = database.snapshot(known=None, asks_queues=False).workers

    assert now == worker.drain_until
    assert worker.drained_at is None
    assert 20 == worker.slots_full
    with pytest.raises(Deposed):
        database.mark_drain(marks, epoch=epoch - 1)
    database.unmark_drain(["uid-a"], epoch=epoch)
    (worker,) = database.snapshot(known=None, asks_queues=False).workers
    assert worker.drain_until is None


def test_the_policy_document_is_returned_once(
    db: Connection[TupleRow], database: Database
) -> None:
    """Its document comes again only when it is another one."""
    assert database.snapshot(known=None, asks_queues=False).policy is None
    policy_storage.store(db, "pools: [{name: a, queues: ['*']}]")
    first = database.snapshot(known=None, asks_queues=False).policy
    assert first is not None
    again = database.snapshot(known=first.version, asks_queues=False).policy
    assert again is not None

    assert first.document == "pools: [{name: a, queues: ['*']}]"
    assert again.document is None
    assert first.version == again.version


def test_queues_with_a_due_job_are_returned_when_requested(
    db: Connection[TupleRow], database: Database
) -> None:
    """Promoted or not; a job of the future does not count."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, kind, run_at) VALUES ('a', 'k', NULL),"
        " ('a', 'k', NULL), ('b', 'k', NULL), ('late', 'k', now() - interval '1 s'),"
        " ('future', 'k', now() + interval '1 hour')"
    )

    assert () == database.snapshot(known=None, asks_queues=False).queues
    assert {"a", "b", "late"} == set(database.snapshot(known=None, asks_queues=True).queues)


@pytest.mark.parametrize(("table", "values"), _ROWS)
def test_one_row_that_cannot_be_read_hides_no_other(
    table: LiteralString, values: LiteralString, db: Connection[TupleRow], database: Database
) -> None:
    """Whatever a superuser has stored; a session of the autoscaler's ended for it."""
    policy_storage.store(db, "{}")
    demand(db, mean=2.0, variance=1.0)
    db.execute(
        "INSERT INTO fairlead.pool_demand SELECT (jsonb_populate_record("
        "d, jsonb_build_object('pool', 'other'))).* FROM fairlead.pool_demand d"
    )
    for uid in ("uid-a", "uid-b"):
        pod(db, uid)
    epoch = database.begin_epoch("me")
    now = database.snapshot(known=None, asks_queues=False).now
    marks = DrainMarks(pool="default", pods=["uid-a"], fresh=["uid-a"], until=now)
    database.mark_drain(marks, epoch=epoch)
    change = sql.SQL("UPDATE fairlead.{} t SET {} WHERE coalesce(to_jsonb(t) ->> {}, '') <> {}")
    key, kept = {"worker_leases": ("pod_uid", "uid-b"), "pool_demand": ("pool", "other")}.get(
        table, ("", "none")
    )
    with db.transaction():
        db.execute("SET LOCAL session_replication_role = replica")
        db.execute(
            change.format(sql.Identifier(table), sql.SQL(values), sql.Literal(key), kept)
        )

    found = database.snapshot(known=None, asks_queues=True)

    assert "uid-b" in {each.pod_uid for each in found.workers}
    assert "other" in found.demand
    assert bool(found.unreadable) == (values in _UNREADABLE)


def test_a_row_that_cannot_be_read_is_named_in_the_log_and_pools_are_scaled(
    scene: Scene, logged: Lines
) -> None:
    """Of several one is named; the log says so once a minute, the counter each time."""
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.start()
    scene.db.execute(
        "INSERT INTO fairlead.worker_leases (name, pool, slots, pod_uid, started_at,"
        " lease_until) SELECT 'w', 'default', 1, 'bad-' || i, 'infinity',"
        " now() + interval '1 h' FROM generate_series(1, 2) i"
    )
    before, _ = scene.replicas, logged()
    scene.need(slots=100, work=1000.0)
    scene.step(2)

    assert scene.replicas > before
    (line,) = [each for each in logged() if each["event"] == "database.row_unreadable"]
    said = str(line["reason"])
    assert "worker of 'bad-1': registered_at is 'infinity': " in said
    assert said.endswith(", and 1 more")
    counted = scene.metrics.registry.get_sample_value
    assert 2 == counted("fairlead_autoscaler_errors_total", {"stage": "observe"})
