"""Many schedules fire at one instant, batch by batch, and one of a batch delays no other."""

from collections.abc import Collection, Sequence
from contextlib import closing
from datetime import timedelta
from time import monotonic

import psycopg
import pytest

from fairlead.errors import OVER_BACKLOG_SQLSTATE
from fairlead_scheduler.cron import fire_rates, full_lanes, runner
from fairlead_scheduler.cron.missed_fires import Fires, decide
from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.cron.store import DueSchedule, ScheduleStore
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.race import Database, lead
from tests.support.schedulers import scheduling
from tests.support.schedules import fired, fires, problem, schedule
from tests.support.waiting import until


def insert_many(db: Database, count: int, *, due_in: str) -> None:
    """Insert schedules of ten tenants that are due at one instant, and then in an hour."""
    db.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind, missed, considered_until)"
        " SELECT 'tenant ' || i %% 10, 'schedule ' || i,"
        " to_char(now() AT TIME ZONE 'UTC' + %s::interval, 'SS MI') || ' * * * *',"
        " 'noop', 'skip', now() FROM generate_series(1, %s) i",
        [due_in, count],
    )


def all_fired(db: Database, count: int) -> None:
    """Wait until so many schedules have fired."""
    until(
        lambda: (
            db.execute("SELECT count(*) FROM fairlead.schedule_fires").fetchone() == (count,)
        ),
        what=f"{count} fires",
        seconds=40,
    )


def test_ten_thousand_schedules_due_at_once_all_fire(database_url: str, db: Database) -> None:
    """Batch by batch; what is late because others came first was not missed."""
    insert_many(db, 10_000, due_in="6 s")
    with scheduling(database_url) as replica:
        all_fired(db, 10_000)
        missed = replica.metrics.registry.get_sample_value("fairlead_cron_missed_total")

    assert 0 == missed
    assert (10_000,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()


def test_a_fire_that_waited_for_others_was_not_missed(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even when a batch takes longer than a fire may be late."""
    monkeypatch.setattr(runner, "ON_TIME", timedelta(seconds=2))
    db.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END'"
    )
    db.execute(
        "CREATE TRIGGER slow BEFORE INSERT ON fairlead.schedule_fires"
        " FOR EACH STATEMENT EXECUTE FUNCTION slow()"
    )
    insert_many(db, 1_100, due_in="3 s")
    with scheduling(database_url, lease_seconds=10.0) as replica:
        all_fired(db, 1_100)
        missed = replica.metrics.registry.get_sample_value("fairlead_cron_missed_total")

    assert 0 == missed


def test_one_that_cannot_be_inserted_is_found_in_its_batch(
    database_url: str, db: Database
) -> None:
    """The others of the batch fire, in the same pass."""
    db.execute(
        "ALTER TABLE fairlead.jobs ADD CONSTRAINT jobs_are_not_evil CHECK (kind <> 'evil')"
    )
    for number in range(50):
        kind = "evil" if number == 31 else "noop"
        schedule(db, f"schedule {number}", considered="1 s", kind=kind, tenant=f"t{number % 4}")
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics()).fire()

    unfired = db.execute(
        "SELECT name FROM fairlead.schedules s WHERE NOT EXISTS (SELECT FROM"
        " fairlead.schedule_fires f WHERE f.tenant = s.tenant AND f.schedule = s.name)"
    ).fetchall()
    assert [("schedule 31",)] == unfired
    assert "jobs_are_not_evil" in (problem(db, "schedule 31") or "")


def test_a_schedule_that_a_transaction_holds_delays_no_other(
    database_url: str, db: Database, connect: Connect
) -> None:
    """It fires once that has ended."""
    schedule(db, "held", tenant="a")
    schedule(db, "free", tenant="b")
    application = connect(autocommit=False)
    application.execute("UPDATE fairlead.schedules SET payload = '1' WHERE name = 'held'")
    with scheduling(database_url) as replica:
        fired(db, "free", 2)
        assert 0 == fires(db, "held")
        failures = replica.metrics.registry.get_sample_value(
            "fairlead_scheduler_task_failures_total", {"task": "fire"}
        )
        application.commit()

        fired(db, "held")

    assert not failures


def test_a_schedule_that_a_transaction_holds_is_not_waited_for(
    database_url: str, db: Database, connect: Connect
) -> None:
    """A batch with it is no statement that runs into its time limit and is divided."""
    insert_due(db, 2)
    application = connect(autocommit=False)
    application.execute("UPDATE fairlead.schedules SET payload = '1' WHERE name = 'schedule 1'")
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        session.execute("SET lock_timeout = '10 ms'")
        ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics()).fire()

    assert (0, 1) == (fires(db, "schedule 1"), fires(db, "schedule 2"))


def test_a_batch_that_takes_too_long_for_one_statement_is_divided(
    database_url: str, db: Database
) -> None:
    """All of its schedules fire in the same pass, and it is no failure of the task."""
    db.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(.05); RETURN NEW; END'"
    )
    db.execute(
        "CREATE TRIGGER slow BEFORE INSERT ON fairlead.schedule_fires"
        " FOR EACH ROW EXECUTE FUNCTION slow()"
    )
    insert_due(db, 30)
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "lease_seconds": 1, "renew_seconds": 0.1}
        | {"margin_seconds": 0.1}
    )
    with closing(connect_leader(settings, name="cron")) as session:
        ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics()).fire()

    assert (30,) == db.execute("SELECT count(*) FROM fairlead.schedule_fires").fetchone()


def batches_of(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that is to have how many schedules each statement fires."""
    batches: list[int] = []

    def fire(self: ScheduleStore, due: Sequence[DueSchedule]) -> Collection[int]:
        batches.append(len(due))
        return plain(self, due)

    plain = ScheduleStore.fire
    monkeypatch.setattr(ScheduleStore, "fire", fire)
    return batches


def test_schedules_that_are_due_at_once_fire_by_hundreds(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a statement for each."""
    batches = batches_of(monkeypatch)
    insert_due(db, 300)
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())
        until(lambda: not firing.fire(), what="all fires")

    assert 300 == sum(batches)
    assert len(batches) <= 3


def test_a_batch_holds_so_many_bytes_of_payloads(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large ones are inserted a few at a time; one that is larger than a batch goes alone."""
    batches = batches_of(monkeypatch)
    monkeypatch.setattr(runner, "_BYTES_AT_ONCE", 2_500)
    insert_due(db, 4)
    db.execute("UPDATE fairlead.schedules SET payload = to_jsonb(repeat('x', 1400))")
    db.execute(
        "UPDATE fairlead.schedules SET payload = (SELECT to_jsonb(string_agg(md5(i::text), ''))"
        " FROM generate_series(1, 100) i) WHERE name = 'schedule 4'"
    )
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())
        while firing.fire():
            pass

    assert 4 == sum(batches)
    assert max(batches) == 2


def test_a_schedule_that_cannot_be_decided_silences_no_other(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, and fires as soon as it can: nothing of it is lost."""

    def faulty(*arguments: object, **more: object) -> Fires:
        if arguments[1] == "catch_up":
            raise ValueError("year 10000 is out of range")
        return decide(*arguments, **more)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(runner, "decide", faulty)
    insert_due(db, 20)
    db.execute("UPDATE fairlead.schedules SET missed = 'catch_up' WHERE name = 'schedule 7'")
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())
        firing.fire()

        assert (19,) == db.execute("SELECT count(*) FROM fairlead.schedule_fires").fetchone()
        assert "year 10000 is out of range" in (problem(db, "schedule 7") or "")

        monkeypatch.undo()
        until(lambda: firing.fire() or fires(db, "schedule 7"), what="a fire of the schedule")


@pytest.mark.parametrize("error", [psycopg.errors.LockNotAvailable, KeyError])
def test_what_an_error_kept_from_firing_is_read_again_and_costs_its_tenant_nothing(
    database_url: str,
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:
    """Whatever the error; a rate that was charged for it would make the next pass wait."""
    insert_due(db, 5)
    db.execute("UPDATE fairlead.schedules SET tenant = 'one'")
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "tenant_fires_per_second": 1}
    )
    metrics = Metrics()

    def fire(_self: ScheduleStore, _due: Sequence[DueSchedule]) -> Collection[int]:
        raise error("unexpected")

    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=metrics)
        with monkeypatch.context() as patch:
            patch.setattr(ScheduleStore, "fire", fire)
            for _ in range(3):
                with pytest.raises(error, match="unexpected"):
                    until(firing.fire, what="the error")
        until(lambda: firing.fire() or all_of(db) == 5, what="all fires")

    assert 0 == metrics.registry.get_sample_value("fairlead_cron_delayed_total")


def test_what_its_own_lane_held_up_is_missed_whatever_else_fires_meanwhile(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the time that others took is not a fire's own delay."""

    class Full(psycopg.DatabaseError):
        sqlstate = OVER_BACKLOG_SQLSTATE

    def fire(self: ScheduleStore, due: Sequence[DueSchedule]) -> Collection[int]:
        if any(each.row.name == "held" and each.fires.times for each in due):
            refused.append(monotonic())
            raise Full
        return plain(self, due)

    refused: list[float] = []
    plain = ScheduleStore.fire
    monkeypatch.setattr(ScheduleStore, "fire", fire)
    monkeypatch.setattr(runner, "ON_TIME", timedelta(seconds=2))
    monkeypatch.setattr(runner, "_FIRES_AT_ONCE", 1)
    monkeypatch.setattr(full_lanes, "RETRY_US", 3_000_000)
    insert_many(db, 1, due_in="2 s")
    db.execute("UPDATE fairlead.schedules SET name = 'held'")
    for tenant in ("a", "b", "c"):
        schedule(db, "busy", missed="catch_up", considered="1 hour", tenant=tenant)
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "catch_up_max": 1, "tenant_fires_per_second": 10_000}
    )
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())
        until(lambda: firing.fire() and refused, what="a refusal")
        until(lambda: firing.fire() and problem(db, "held") is None, what="a decision")

    assert (1, 0) == (len(refused), fires(db, "held"))


def test_schedules_that_wait_for_their_tenants_rate_do_not_fire_twice_at_their_turn(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was missed while they waited, and what is on time, is one fire: one was promised."""
    monkeypatch.setattr(runner, "ON_TIME", timedelta(seconds=1))
    monkeypatch.setattr(fire_rates, "_BURST_US", 0)
    for number in range(40):
        schedule(db, f"one of {number}", missed="coalesce", considered="1 hour", tenant="a")
    settings = SchedulerSettings.model_validate(
        {
            "database_url": database_url,
            "tenant_fires_per_second": 10,
            "schedule_interval_seconds": 1,
        }
    )
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())
        began = monotonic()
        until(lambda: (firing.fire(), all_of(db))[1] >= 30, what="thirty fires")
        lasted = monotonic() - began

    assert all_of(db) <= 10 * lasted + 3


def all_of(db: Database) -> int:
    """Count all jobs."""
    row = db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()
    assert row is not None
    return int(row[0])


def insert_due(db: Database, count: int) -> None:
    """Insert schedules of as many tenants that are due since two seconds, and in an hour."""
    db.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind, missed, considered_until)"
        " SELECT 'tenant ' || i, 'schedule ' || i,"
        " to_char(now() AT TIME ZONE 'UTC' - interval '2 s', 'SS MI') || ' * * * *',"
        " 'noop', 'skip', now() - interval '3 s' FROM generate_series(1, %s) i",
        [count],
    )
