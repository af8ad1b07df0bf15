"""Fires that take longer than a statement of the leader may: less is fired at once."""

from collections.abc import Collection, Sequence
from contextlib import closing
from time import monotonic

import pytest

from fairlead_scheduler.cron import runner
from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.cron.store import DueSchedule, ScheduleStore
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.integration.scheduler.test_cron_batches import all_of, batches_of, insert_due
from tests.support.race import Database, lead
from tests.support.schedules import problem, schedule
from tests.support.waiting import until


def insert_slow(db: Database, seconds: float, *, of: str = "") -> None:
    """Let each fire of a tenant's, or of anybody's, take so long."""
    db.execute(
        f"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF {of or 'true'}"
        f" THEN PERFORM pg_sleep({seconds}); END IF; RETURN NEW; END'".encode()
    )
    db.execute(
        "CREATE TRIGGER slow BEFORE INSERT ON fairlead.schedule_fires"
        " FOR EACH ROW EXECUTE FUNCTION slow()"
    )


HURRIED = {"lease_seconds": 1, "renew_seconds": 0.1, "margin_seconds": 0.1}


def test_after_a_batch_that_takes_too_long_the_next_ones_are_smaller(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each of them is tried whole first: it would take the statement's time each time."""
    batches = batches_of(monkeypatch)
    insert_slow(db, 0.05)
    insert_due(db, 60)
    settings = SchedulerSettings.model_validate({"database_url": database_url} | HURRIED)
    with closing(connect_leader(settings, name="cron")) as session:
        ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics()).fire()

    assert 60 == all_of(db)
    assert 60 == batches[0]
    assert 1 == batches.count(60)
    assert 1 >= batches.count(30)


def test_a_schedule_that_takes_too_long_by_itself_is_set_aside(
    database_url: str, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named, counted and left alone for a minute; all others fire."""
    insert_slow(db, 10, of="new.tenant = ''tenant 7''")
    insert_due(db, 12)
    settings = SchedulerSettings.model_validate({"database_url": database_url} | HURRIED)
    metrics = Metrics()
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=metrics)
        until(lambda: not firing.fire(), what="all that can fire")
        began = monotonic()
        firing.fire()
        lasted = monotonic() - began

    assert 11 == all_of(db)
    assert lasted < 0.5
    assert "takes too long" in (problem(db, "schedule 7") or "")
    assert 1 == metrics.registry.get_sample_value("fairlead_cron_set_aside_total")
    assert 1 == capsys.readouterr().out.count("schedule.set_aside")


def test_of_many_large_fires_of_one_schedule_a_few_are_inserted_at_once(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as a batch holds: what was missed in an hour is not one statement."""
    batches: list[int] = []

    def fire(self: ScheduleStore, due: Sequence[DueSchedule]) -> Collection[int]:
        batches.append(sum(len(each.fires.times) for each in due))
        return plain(self, due)

    plain = ScheduleStore.fire
    monkeypatch.setattr(ScheduleStore, "fire", fire)
    monkeypatch.setattr(runner, "_BYTES_AT_ONCE", 2_500)
    schedule(db, "large", missed="catch_up", considered="30 s", tenant="a")
    db.execute("UPDATE fairlead.schedules SET payload = to_jsonb(repeat('x', 1100))")
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        firing = ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())
        until(lambda: (firing.fire(), all_of(db))[1] >= 5, what="five fires")

    assert 2 == max(batches)
