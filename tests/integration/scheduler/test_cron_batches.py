"""Many schedules fire at one instant, batch by batch, and one of a batch delays no other."""

from contextlib import closing
from datetime import timedelta

import pytest

from fairlead_scheduler.cron import runner
from fairlead_scheduler.cron.runner import ScheduleRunner
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
