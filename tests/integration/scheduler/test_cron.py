"""Schedules fire once, whichever replica leads; one that cannot fire delays no other."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.support.race import Database, lead
from tests.support.schedulers import Replica, depose, scheduling
from tests.support.schedules import EVERY_SECOND, fired, fires, problem, schedule
from tests.support.waiting import until


@pytest.fixture
def replica(database_url: str) -> Iterator[Replica]:
    """Yield a scheduler that leads, or soon will."""
    with scheduling(database_url) as running:
        yield running


@pytest.mark.usefixtures("replica")
def test_a_fire_inserts_the_job_of_its_template(db: Database) -> None:
    """The job is the template's, and its headers say which fire it is."""
    schedule(
        db,
        "report",
        queue="reports",
        tenant="acme",
        payload='{"a": 1}',
        headers='{"trace": "x"}',
        expires_in="1 hour",
        timeout="7 s",
        priority="3",
        max_attempts="2",
    )
    fired(db, "report")

    row = db.execute(
        "SELECT queue, tenant, kind, payload, priority, max_attempts, timeout::text,"
        " expires_at - f.fire_time = interval '1 hour', headers ->> 'trace',"
        " (headers ->> 'fairlead.fire_time')::timestamptz = f.fire_time"
        " FROM fairlead.jobs j, LATERAL (SELECT min(fire_time) AS fire_time"
        " FROM fairlead.schedule_fires WHERE schedule = 'report') f ORDER BY j.id LIMIT 1"
    ).fetchone()
    template = ("reports", "acme", "noop", {"a": 1}, 3, 2, "00:00:07")
    assert (*template, True, "x", True) == row


@pytest.mark.usefixtures("replica")
def test_two_tenants_schedules_of_one_name_both_fire(db: Database) -> None:
    """A schedule is its tenant's, and so are its fires."""
    for tenant in ("acme", "other"):
        schedule(db, "report", tenant=tenant)

    def both() -> bool:
        row = db.execute(
            "SELECT count(*) > 1 FROM fairlead.schedule_fires GROUP BY fire_time"
            " ORDER BY 1 DESC LIMIT 1"
        ).fetchone()
        return row == (True,)

    until(both, what="a fire of both at one instant")
    assert [("acme",), ("other",)] == db.execute(
        "SELECT DISTINCT tenant FROM fairlead.jobs ORDER BY tenant"
    ).fetchall()


def test_each_fire_is_fired_once_however_often_the_lead_changes(
    database_url: str, db: Database
) -> None:
    """A fire is unique by schedule and time, whichever replica fires it; none is lost."""
    with scheduling(database_url), scheduling(database_url):
        schedule(db, "often", missed="catch_up", considered="30 s")
        for count in (1, 31, 33, 35):
            fired(db, "often", count)
            depose(db)
        fired(db, "often", 37)

    row = db.execute(
        "SELECT count(*), count(DISTINCT fire_time),"
        " extract(epoch FROM max(fire_time) - min(fire_time)) + 1"
        " FROM fairlead.schedule_fires WHERE schedule = 'often'"
    ).fetchone()
    assert row is not None
    assert row[0] == row[1] == row[2] == fires(db, "often")


@pytest.mark.usefixtures("replica")
@pytest.mark.parametrize(
    ("missed", "expected"), [("skip", 0), ("coalesce", 1), ("catch_up", 4)]
)
def test_missed_fires_follow_the_policy(db: Database, missed: str, expected: int) -> None:
    """Four hours without a leader: skip them, coalesce them into one, or catch up on each."""
    schedule(db, "late", hourly(db), missed=missed, considered="4 hours")
    schedule(db, "after it")

    fired(db, "after it")
    until(lambda: is_considered(db, "late"), what="the late schedule being considered")

    assert expected == fires(db, "late")


@pytest.mark.usefixtures("replica")
def test_a_bad_expression_says_so_and_delays_no_other(db: Database) -> None:
    """What the cron library refuses is written down where people look."""
    schedule(db, "bad", "61 * * * *")
    schedule(db, "good")

    fired(db, "good")

    until(lambda: "Bad minute" in (problem(db, "bad") or ""), what="the problem")
    assert problem(db, "good") is None


@pytest.mark.usefixtures("replica")
def test_a_job_that_cannot_be_inserted_is_the_schedules_problem(db: Database) -> None:
    """A fire that a constraint refuses is written down; once it is mended, it fires."""
    db.execute(
        "ALTER TABLE fairlead.jobs ADD CONSTRAINT jobs_are_not_evil CHECK (kind <> 'evil')"
    )
    schedule(db, "evil")
    db.execute("UPDATE fairlead.schedules SET kind = 'evil'")
    schedule(db, "good")

    until(lambda: "jobs_are_not_evil" in (problem(db, "evil") or ""), what="the problem")
    fired(db, "good")
    db.execute("UPDATE fairlead.schedules SET kind = 'noop'")

    fired(db, "evil")
    until(lambda: problem(db, "evil") is None, what="the problem's end")


@pytest.mark.usefixtures("replica")
@pytest.mark.parametrize(
    ("missed", "expected"), [("skip", 0), ("coalesce", 1), ("catch_up", 4)]
)
def test_what_a_disabled_schedule_missed_is_up_to_its_policy(
    db: Database, missed: str, expected: int
) -> None:
    """Disabled for four hours: nothing fires meanwhile, and then what the policy says."""
    schedule(db, "off", hourly(db), missed=missed, considered="4 hours", enabled="false")
    schedule(db, "after it")
    fired(db, "after it", 3)
    assert 0 == fires(db, "off")

    db.execute("UPDATE fairlead.schedules SET enabled = true WHERE name = 'off'")

    until(lambda: is_considered(db, "off"), what="the schedule being considered")
    assert expected == fires(db, "off")


def hourly(db: Database) -> str:
    """Return an expression that is half an hour away: no fire is on time in the test."""
    minute = db.execute("SELECT extract(minute FROM now() + interval '30 min')::int").fetchone()
    assert minute is not None
    return f"{minute[0]} * * * *"


def is_considered(db: Database, name: str) -> bool:
    """Tell whether a schedule was considered in the last minute."""
    row = db.execute(
        "SELECT considered_until > now() - interval '1 min' FROM fairlead.schedules"
        " WHERE name = %s",
        [name],
    ).fetchone()
    return row == (True,)


@pytest.mark.usefixtures("replica")
@pytest.mark.parametrize("edit", ["cron = '*/5 * * * *'", "timezone = 'Asia/Kolkata'"])
def test_other_times_of_a_schedule_begin_with_the_edit(db: Database, edit: str) -> None:
    """A new expression or zone fires nothing of the past, whatever the policy."""
    schedule(db, "edited", "0 0 1 1 *", missed="catch_up", considered="400 days")
    fired(db, "edited")
    before = fires(db, "edited")
    db.execute("UPDATE fairlead.schedules SET considered_until = now() - interval '20 hours'")

    db.execute(f"UPDATE fairlead.schedules SET {edit}".encode())

    assert is_considered(db, "edited")
    schedule(db, "after it")
    fired(db, "after it", 5)
    assert fires(db, "edited") - before in {0, 1}


def test_an_edit_of_anything_else_keeps_what_a_schedule_owes(db: Database) -> None:
    """Its payload may change while a leader is away, and it may be enabled again."""
    schedule(db, "edited", missed="catch_up", considered="4 hours")

    db.execute(
        "UPDATE fairlead.schedules SET cron = cron, kind = 'other', payload = '1',"
        " enabled = NOT enabled"
    )

    assert not is_considered(db, "edited")


@pytest.mark.usefixtures("replica")
def test_schedules_that_come_change_and_go_are_noticed(db: Database) -> None:
    """What has not changed is not planned anew; what has is."""
    schedule(db, "first", "0 0 1 1 *")
    schedule(db, "second")
    fired(db, "second")

    db.execute("UPDATE fairlead.schedules SET cron = %s WHERE name = 'first'", [EVERY_SECOND])
    db.execute("DELETE FROM fairlead.schedules WHERE name = 'second'")
    fired(db, "first", 2)

    gone = fires(db, "second")
    fired(db, "first", 5)
    assert gone == fires(db, "second")


def test_a_tenants_many_schedules_delay_no_other_tenants(
    database_url: str, db: Database
) -> None:
    """A run plans and fires 200 of them: two tenants take turns, whoever comes last by name."""
    db.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind, considered_until)"
        " SELECT t, 'schedule ' || i, '* * * * * *', 'noop', now() - interval '5 s'"
        " FROM (VALUES ('a', 1), ('flood', 1000), ('z', 1)) v (t, n), generate_series(1, n) i"
    )
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics()).fire()

    rows = db.execute("SELECT DISTINCT tenant FROM fairlead.jobs ORDER BY tenant").fetchall()
    assert ["a", "flood", "z"] == [row[0] for row in rows]


def test_a_tenant_has_as_many_schedules_as_are_read_and_no_more(
    database_url: str, db: Database
) -> None:
    """Those beyond, by name, do not fire; the first of them says why until there is room."""
    for name in ("a", "b", "c", "d"):
        schedule(db, name, tenant="flood", considered="5 s")
    schedule(db, "other", tenant="z", considered="5 s")
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "schedules_max": 2}
    )
    with closing(connect_leader(settings, name="cron")) as session:
        epoch = lead(db)
        ScheduleRunner(session, settings, epoch=epoch, metrics=Metrics()).fire()

        assert {"a", "b", "other"} == {
            name for name in ("a", "b", "c", "d", "other") if fires(db, name)
        }
        said = problem(db, "c") or ""
        assert said.startswith("its tenant has more than 2 schedules")
        assert problem(db, "d") is None

        db.execute("DELETE FROM fairlead.schedules WHERE name = 'b'")
        ScheduleRunner(session, settings, epoch=epoch, metrics=Metrics()).fire()

    assert (True, None) == (fires(db, "c") > 0, problem(db, "c"))


def test_late_fires_of_many_schedules_are_a_line_a_tenant(
    database_url: str, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log does not grow with the number of schedules that are late."""
    db.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind, missed, considered_until)"
        " SELECT 'flood', 'schedule ' || i, '* * * * * *', 'noop', 'skip',"
        " now() - interval '1 minute' FROM generate_series(1, 40) i"
    )
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "tenant_fires_per_second": 1000}
    )
    with closing(connect_leader(settings, name="cron")) as session:
        ScheduleRunner(session, settings, epoch=lead(db), metrics=Metrics()).fire()

    said = [line for line in capsys.readouterr().out.splitlines() if "schedule.missed" in line]
    assert 1 == len(said)
    assert "schedules=40" in said[0]
