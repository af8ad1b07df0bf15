"""Schedules are read page by page, so many of each login; what is known fires meanwhile."""

from collections.abc import Iterator
from contextlib import closing, suppress

import psycopg
import pytest

from fairlead_scheduler.cron import runner
from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.cron.store import ScheduleStore
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.support.logins import LogIn
from tests.support.race import Database, lead
from tests.support.schedules import EVERY_SECOND, fires, problem, schedule
from tests.support.waiting import until


@pytest.fixture
def reader(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ScheduleRunner]:
    """Yield a leader's schedules: three of each login, read two at a time and all the time."""
    monkeypatch.setattr(runner, "_READ_AT_ONCE", 2)
    monkeypatch.setattr(runner, "_READ_SECONDS", 0.0)
    monkeypatch.setattr(runner, "_READ_SHARE", 1e9)
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "login_schedules_max": 3}
    )
    with closing(connect_leader(settings, name="cron")) as session:
        yield ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics())


def refuse(*_: object) -> None:
    """Raise what a read that takes too long raises."""
    raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")


def test_what_is_known_fires_while_no_schedule_can_be_read(
    db: Database, reader: ScheduleRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task fails, so that it is logged and counted, once all that is due has fired."""
    schedule(db, "known", considered="5 s")
    reader.fire()
    before = fires(db, "known")
    monkeypatch.setattr(ScheduleStore, "read", refuse)
    failed: list[str] = []

    def fired_again() -> bool:
        try:
            reader.fire()
        except psycopg.errors.QueryCanceled as error:
            failed.append(str(error))
        return fires(db, "known") > before + 1

    until(fired_again, what="two more fires")
    assert 1 == len(failed)


def test_a_page_that_could_not_be_read_is_read_later(
    db: Database, reader: ScheduleRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came before it is not read once more."""
    monkeypatch.setattr(runner, "_READ_AGAIN_SECONDS", 0.0)
    for name in ("a", "b", "c"):
        schedule(db, name, considered="5 s")
    reader.fire()
    with monkeypatch.context() as patched:
        patched.setattr(ScheduleStore, "read", refuse)
        with suppress(psycopg.errors.QueryCanceled):
            reader.fire()
    assert not fires(db, "c")

    reader.fire()

    assert fires(db, "a")
    assert fires(db, "c")


def test_one_that_is_removed_fires_no_more(db: Database, reader: ScheduleRunner) -> None:
    """Though it was on a page of its own."""
    for name in ("a", "b", "c"):
        schedule(db, name, considered="5 s")
    for _ in range(3):
        reader.fire()
    assert all(fires(db, name) for name in ("a", "b", "c"))
    db.execute("DELETE FROM fairlead.schedules WHERE name = 'c'")
    for _ in range(3):
        reader.fire()
    before = fires(db, "a"), fires(db, "c")

    def fired_again() -> bool:
        reader.fire()
        return fires(db, "a") > before[0] + 1

    until(fired_again, what="fires of the others")
    assert before[1] == fires(db, "c")


def test_a_logins_many_schedules_leave_out_its_own(
    db: Database, log_in: LogIn, reader: ScheduleRunner
) -> None:
    """Whatever tenants it names; the first that does not fire says why until there is room."""
    flood, quiet = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    flood.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind)"
        " SELECT 'tenant ' || i, 'flood ' || i, %s, 'noop' FROM generate_series(1, 9) i",
        [EVERY_SECOND],
    )
    quiet.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('quiet', %s, 'noop')",
        [EVERY_SECOND],
    )
    db.execute("UPDATE fairlead.schedules SET considered_until = now() - interval '5 s'")
    for _ in range(8):
        reader.fire()

    names = [f"flood {i}" for i in range(1, 10)]
    assert {"quiet", *names[:3]} == {each for each in ("quiet", *names) if fires(db, each)}
    assert (problem(db, "flood 4") or "").startswith("its login has made more than 3 schedules")
    assert problem(db, "flood 5") is None

    flood.execute("SELECT fairlead.remove_schedules('tenant 1')")
    for _ in range(8):
        reader.fire()

    assert fires(db, "flood 4")
    assert "its login has made" not in (problem(db, "flood 4") or "")
