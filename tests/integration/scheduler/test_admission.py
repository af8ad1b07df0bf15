"""The leader refuses floods within seconds, and accepts jobs again when they have drained."""

import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from time import monotonic

import psycopg
import pytest

from fairlead import policy_storage
from fairlead.db.statements import load
from fairlead_scheduler.cron import runner
from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish, lead
from tests.support.schedulers import led, scheduler_process, scheduling
from tests.support.schedules import fires, problem, schedule
from tests.support.waiting import until

FULL = "FL005"
OVERSHOOT_SECONDS = 5.0
LIMIT = 200
CAPPED = f"""
queues:
  - match: {{queue: default}}
    tenants: {{overrides: [{{match: {{tenant: loud}}, backlog: {{limit: {LIMIT}}}}}]}}
"""
WHOLE = f"queues: [{{match: {{queue: default}}, backlog: {{limit: {LIMIT}}}}}]"
FREE = "queues: [{match: {queue: default}, weight: 2}]"
_COUNT_TRIES = """
    CREATE SEQUENCE fairlead.tries;
    CREATE FUNCTION fairlead.count_try() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM nextval('fairlead.tries'); RETURN NULL; END $$;
    CREATE TRIGGER count_tries BEFORE INSERT ON fairlead.schedule_fires
        FOR EACH STATEMENT EXECUTE FUNCTION fairlead.count_try()
"""
"""A sequence counts statements that are rolled back as well."""


def inserted(db: Database, tenant: str = "loud", count: int = 1, *, delay: str = "0 s") -> bool:
    """Insert jobs; whether they were accepted."""
    try:
        db.execute(
            "INSERT INTO fairlead.jobs (tenant, kind, run_at)"
            " SELECT %s, 'noop', now() + %s::interval FROM generate_series(1, %s)",
            [tenant, delay, count],
        )
    except psycopg.DatabaseError as error:
        if error.sqlstate != FULL:
            raise
        return False
    return True


def full_lanes(db: Database) -> list[tuple[object, ...]]:
    """Return the lanes that are refused."""
    return db.execute(
        "SELECT queue, tenant, backlog_limit FROM fairlead.over_backlog ORDER BY 1, 2"
    ).fetchall()


def gate(db: Database) -> bool:
    """Tell whether INSERTs look at the table."""
    row = db.execute("SELECT pg_sequence_last_value('fairlead.backlog_gate')").fetchone()
    return row != (None,)


def published(db: Database, rows: list[tuple[object, ...]]) -> None:
    """Wait until only these lanes are refused, and the gate is open when there are none."""
    until(lambda: full_lanes(db) == rows, what=f"the rows {rows}", seconds=OVERSHOOT_SECONDS)
    until(lambda: gate(db) == bool(rows), what="the gate")


@contextmanager
def flooding(connect: Connect, tenant: str = "loud") -> Generator[list[float]]:
    """Insert jobs one by one until the end of the block; yield when each was accepted."""
    accepted: list[float] = []
    stop = threading.Event()
    session = connect()

    def insert() -> None:
        while not stop.wait(0.002):
            if inserted(session, tenant):
                accepted.append(monotonic())

    thread = threading.Thread(target=insert, name="flooding")
    thread.start()
    try:
        yield accepted
    finally:
        stop.set()
        thread.join()


def test_a_flood_is_refused_within_five_seconds_and_others_are_not(
    database_url: str, db: Database, connect: Connect
) -> None:
    """It passes the limit by what it inserts in that time; drained, it may go on."""
    policy_storage.store(db, CAPPED)
    worker = register(db, slots=100)
    with scheduling(database_url) as replica, flooding(connect) as accepted:
        led(db)
        until(lambda: len(accepted) >= LIMIT, what="the limit being reached")
        until(lambda: not inserted(db), what="a refusal", seconds=OVERSHOOT_SECONDS)

        assert accepted[-1] - accepted[LIMIT - 1] <= OVERSHOOT_SECONDS
        assert [("default", "loud", LIMIT)] == full_lanes(db)
        assert inserted(db, "quiet", 500)
        metric = replica.metrics.registry.get_sample_value
        until(lambda: metric("fairlead_lanes_over_backlog") == 1.0, what="the metric")

        before = len(accepted)
        until(
            lambda: finish(db, claim(db, worker)) and len(accepted) > before,
            what="a job being accepted again",
            seconds=30,
        )


def test_scheduled_jobs_count(database_url: str, db: Database) -> None:
    """A flood of delayed jobs is one as well."""
    policy_storage.store(db, CAPPED)
    with scheduling(database_url):
        led(db)
        assert inserted(db, count=LIMIT // 2, delay="1 hour")
        assert inserted(db, count=LIMIT // 2)
        until(lambda: not inserted(db), what="a refusal", seconds=OVERSHOOT_SECONDS)


def test_a_queue_has_a_limit_over_all_tenants(database_url: str, db: Database) -> None:
    """Whichever tenants filled it, no tenant may add to it."""
    policy_storage.store(db, WHOLE)
    with scheduling(database_url):
        led(db)
        for tenant in range(10):
            assert inserted(db, str(tenant), LIMIT // 10)
        until(lambda: not inserted(db, "new"), what="a refusal", seconds=OVERSHOOT_SECONDS)
    assert [("default", None, LIMIT)] == full_lanes(db)


def test_a_lane_below_its_limit_is_never_refused(database_url: str, db: Database) -> None:
    """One job less than the limit is not over it."""
    policy_storage.store(db, CAPPED)
    assert inserted(db, count=LIMIT - 1)
    with scheduling(database_url) as replica:
        led(db)
        age = replica.metrics.registry.get_sample_value
        until(lambda: age("fairlead_backlog_count_age_seconds"), what="two counts")
        assert [] == full_lanes(db)
        assert inserted(db)


def test_an_edit_of_the_policy_is_felt_within_five_seconds(
    database_url: str, db: Database
) -> None:
    """A new limit fills the lane, a higher one reopens it, and a removed one leaves no row."""
    assert inserted(db, count=LIMIT)
    with scheduling(database_url):
        led(db)
        assert inserted(db)
        policy_storage.store(db, CAPPED)
        published(db, [("default", "loud", LIMIT)])
        policy_storage.store(db, CAPPED.replace(str(LIMIT), "100"))
        published(db, [("default", "loud", 100)])
        policy_storage.store(db, CAPPED.replace(str(LIMIT), "5000"))
        published(db, [])
        policy_storage.store(db, CAPPED)
        published(db, [("default", "loud", LIMIT)])
        policy_storage.store(db, FREE)
        published(db, [])
        assert inserted(db)


def test_a_limit_holds_when_the_leader_is_killed(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Who is refused stays so; who crosses meanwhile is refused soon by the next leader."""
    policy_storage.store(db, CAPPED)
    assert inserted(db, count=LIMIT)
    with scheduler_process(database_url) as first:
        epoch = led(db)
        until(lambda: not inserted(db), what="a refusal")
        first.kill()
        first.wait()
        assert not inserted(db)
        policy_storage.store(db, WHOLE)
        with flooding(connect, "late") as accepted, scheduler_process(database_url):
            led(db, after=epoch)
            until(
                lambda: full_lanes(db) == [("default", None, LIMIT)],
                what="the next leader's rows",
                seconds=OVERSHOOT_SECONDS,
            )
            count = len(accepted)
            assert not inserted(db)
        assert len(accepted) <= count + 1


def test_a_former_leader_changes_nothing(database_url: str, db: Database) -> None:
    """Its writes carry its epoch."""
    policy_storage.store(db, CAPPED)
    assert inserted(db, count=LIMIT)
    with scheduling(database_url):
        led(db)
        until(lambda: full_lanes(db) != [], what="the row")
    row = db.execute("SELECT format('{%s}', id) FROM fairlead.over_backlog").fetchone()
    assert row is not None
    full = '[{"queue": "q", "backlog_limit": 1, "reopens_at": 0}]'

    def written(epoch: int, reopened: object, wanted: str) -> int:
        values = {"epoch": epoch, "reopened": reopened, "full": wanted}
        return len(
            db.execute(
                load("fairlead_scheduler.admission", "publish_backlog"), values
            ).fetchall()
        )

    def narrow_gate(epoch: int) -> bool:
        db.execute(load("fairlead_scheduler.admission", "narrow_gate"), {"epoch": epoch})
        return not gate(db)

    current = db.execute(
        "SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'"
    ).fetchone()
    assert current is not None
    epoch = int(current[0])
    assert 0 == written(epoch - 1, row[0], full)
    assert [("default", "loud", LIMIT)] == full_lanes(db)
    assert not narrow_gate(epoch)
    assert 0 == written(epoch, row[0], "[]")
    assert [] == full_lanes(db)
    assert not narrow_gate(epoch - 1)
    assert narrow_gate(epoch)
    assert 0 == written(epoch - 1, "{}", full)
    assert not gate(db)
    assert 1 == written(epoch, "{}", full)
    assert gate(db)


def test_a_fire_of_a_full_lane_is_put_off_and_delays_no_other(
    database_url: str, db: Database
) -> None:
    """It says so, is counted, and missed decides what becomes of it when the lane is open."""
    policy_storage.store(db, CAPPED)
    assert inserted(db, count=LIMIT)
    with scheduling(database_url) as replica:
        led(db)
        until(lambda: full_lanes(db) != [], what="the row")
        schedule(db, "full", tenant="loud")
        schedule(db, "free", tenant="other")
        until(lambda: problem(db, "full"), what="the problem being named")
        assert "its lane is over its backlog limit: it is tried again" == problem(db, "full")
        until(lambda: fires(db, "free") >= 2, what="two fires of the other")
        refused = replica.metrics.registry.get_sample_value("fairlead_cron_refused_total")
        assert refused
        assert 0 == fires(db, "full")

        policy_storage.store(db, FREE)

        until(lambda: fires(db, "full") >= 1, what="the fire", seconds=15)
        until(lambda: problem(db, "full") is None, what="the problem being gone")


def test_a_full_lane_is_tried_by_one_of_its_schedules(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand of a tenant would otherwise be refused again and again, each for itself."""
    monkeypatch.setattr(runner, "_PLANNING_SECONDS", 60)  # all hundred in one batch
    policy_storage.store(db, CAPPED)
    assert inserted(db, count=LIMIT)
    with scheduling(database_url):
        led(db)
        until(lambda: full_lanes(db) != [], what="the row")
    db.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind, considered_until)"
        " SELECT 'loud', 'schedule ' || i, '* * * * * *', 'noop', now() - interval '5 s'"
        " FROM generate_series(1, 100) i"
    )
    db.execute(_COUNT_TRIES)
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    metrics = Metrics()
    with closing(connect_leader(settings, name="cron")) as session:
        ScheduleRunner(session, settings, epoch=lead(db), metrics=metrics).fire()

    assert 100 * 5 <= (metrics.registry.get_sample_value("fairlead_cron_refused_total") or 0)
    assert (0,) == db.execute("SELECT count(*) FROM fairlead.schedule_fires").fetchone()
    assert (1, True) == db.execute(
        "SELECT last_value, is_called FROM fairlead.tries"
    ).fetchone()
