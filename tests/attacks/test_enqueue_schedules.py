"""What a login that may only enqueue tries to do by schedules: there is a bound to each."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from time import sleep

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.cron.store import DueSchedule, ScheduleStore
from fairlead_scheduler.cron.timetable import Schedule, Timetable
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.support.logins import LogIn
from tests.support.race import lead
from tests.support.waiting import until

Session = Connection[TupleRow]

SCHEDULES = """
    INSERT INTO fairlead.schedules (tenant, name, cron, kind)
    SELECT %(tenant)s, 'schedule ' || i, '* * * * * *', 'noop'
    FROM generate_series(1, %(count)s) i
"""

NEVER = """
    INSERT INTO fairlead.schedules (tenant, name, cron, kind)
    SELECT 'flood', 'schedule ' || i, i % 60 || ' * */31 * 1#5', 'noop'
    FROM generate_series(1, 200) i
"""
"""On the first of a month, if it is the fifth Monday of it."""

MANY_SMALL_VALUES = """
    INSERT INTO fairlead.schedules (tenant, name, cron, kind, payload)
    SELECT 'flood', 'schedule ' || i, '*/10 * * * * *', 'noop',
           ('[' || repeat('[],', 262000) || '[]]')::jsonb
    FROM generate_series(1, 60) i
"""


class Leader:
    """A leader's schedules, fired when the test says so."""

    def __init__(self, connection: Session, settings: SchedulerSettings, db: Session) -> None:
        self.metrics = Metrics()
        self._db = db
        self._runner = ScheduleRunner(
            connection, settings, epoch=lead(db), metrics=self.metrics
        )

    def fire(self, *, owed_seconds: float) -> None:
        """Let each schedule owe its fires of so many seconds, and fire all that may."""
        self._db.execute(
            "UPDATE fairlead.schedules SET considered_until = now() - %s * interval '1 s'",
            [owed_seconds],
        )
        while self._runner.fire():
            pass

    def fire_next(self) -> None:
        """Fire what may by now."""
        self._runner.fire()

    def counted(self, name: str) -> float:
        """Return a counter's value."""
        return self.metrics.registry.get_sample_value(name) or 0.0


@pytest.fixture
def leader(database_url: str, db: Session) -> Iterator[Leader]:
    """Yield the leader: a fire of a tenant a second, each schedule's five seconds apart."""
    settings = SchedulerSettings.model_validate(
        {
            "database_url": database_url,
            "tenant_fires_per_second": 1,
            "schedule_interval_seconds": 5,
        }
    )
    with closing(connect_leader(settings, name="cron")) as session:
        yield Leader(session, settings, db)


@pytest.fixture
def mine(log_in: LogIn) -> Session:
    """Return a connection of the application that attacks."""
    return log_in("fairlead_enqueue")


def jobs(db: Session) -> list[tuple[str, int]]:
    """Return how many jobs each tenant has."""
    found = db.execute("SELECT tenant, count(*) FROM fairlead.jobs GROUP BY 1 ORDER BY 1")
    return [(str(row[0]), int(row[1])) for row in found.fetchall()]


def problems(db: Session) -> set[str]:
    """Return what stands in the way of schedules, as far as the settings' names."""
    rows = db.execute(
        "SELECT DISTINCT problem FROM fairlead.schedules WHERE problem IS NOT NULL"
    )
    return {str(row[0]).partition(":")[0] for row in rows.fetchall()}


def test_fires_of_one_schedule_keep_their_distance(
    db: Session, mine: Session, leader: Leader
) -> None:
    """An application's schedule with a fire a second fires every five; it says so."""
    mine.execute(SCHEDULES, {"tenant": "acme", "count": 1})

    leader.fire(owed_seconds=6.5)

    assert [("acme", 2)] == jobs(db)
    assert {
        "its times are less than 5 s apart (FAIRLEAD_SCHEDULE_INTERVAL_SECONDS)"
    } == problems(db)
    assert 1 == leader.counted("fairlead_cron_passed_over_total")


def test_an_administrators_schedule_may_fire_each_second(
    db: Session, log_in: LogIn, leader: Leader
) -> None:
    """The bound is for those who do not run the fleet."""
    log_in("fairlead_admin").execute(SCHEDULES, {"tenant": "acme", "count": 1})

    leader.fire(owed_seconds=8.5)

    assert jobs(db)[0][1] >= 8
    assert set() == problems(db)


def test_an_administrators_schedule_that_a_tenant_changes_is_the_tenants(
    db: Session, mine: Session, log_in: LogIn, leader: Leader
) -> None:
    """With row-level security a login may; from then on its fires keep their distance."""
    log_in("fairlead_admin").execute(SCHEDULES, {"tenant": "acme", "count": 1})
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [mine.info.user])

    mine.execute("UPDATE fairlead.schedules SET payload = '[1]'")
    leader.fire(owed_seconds=6.5)

    assert [("acme", 2)] == jobs(db)
    assert [("[1]", mine.info.user)] == db.execute(
        "SELECT payload::text, created_by FROM fairlead.schedules"
    ).fetchall()


def test_a_schedule_stays_its_makers_when_nothing_of_it_changes(
    db: Session, mine: Session, log_in: LogIn
) -> None:
    """Nor is it an administrator's because one has disabled it: its fires would be close."""
    administrator = log_in("fairlead_admin")
    mine.execute(SCHEDULES, {"tenant": "acme", "count": 1})
    administrator.execute("UPDATE fairlead.schedules SET enabled = false")
    whose = "SELECT created_by FROM fairlead.schedules"
    assert [(mine.info.user,)] == db.execute(whose).fetchall()

    other = log_in("fairlead_enqueue")
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [other.info.user])
    other.execute("UPDATE fairlead.schedules SET enabled = false, cron = cron")

    assert [(mine.info.user,)] == db.execute(whose).fetchall()


def test_a_tenants_many_schedules_fire_at_its_rate_and_no_other_tenant_waits(
    db: Session, mine: Session, leader: Leader
) -> None:
    """Ten seconds' worth at once; the others are counted and wait for their turns."""
    mine.execute(SCHEDULES, {"tenant": "flood", "count": 100})
    mine.execute(SCHEDULES, {"tenant": "quiet", "count": 1})

    leader.fire(owed_seconds=1.5)

    fired = dict(jobs(db))
    assert 10 <= fired["flood"] < 40
    assert fired["quiet"]
    assert 60 <= leader.counted("fairlead_cron_delayed_total") <= 90


def test_schedules_whose_next_fire_is_slow_to_find_are_planned_a_few_at_a_time(
    mine: Session, leader: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these is searched for through fifty years: what is due goes in between."""

    def take(self: Timetable, count: int) -> list[Schedule]:
        taken = plain(self, count)
        planned.extend(taken)
        sleep(0.005)
        return taken

    planned: list[Schedule] = []
    plain = Timetable.take_unplanned
    monkeypatch.setattr(Timetable, "take_unplanned", take)
    mine.execute(NEVER)

    leader.fire_next()

    assert 1 <= len(planned) <= 10


def test_a_fire_that_had_to_wait_says_so(db: Session, mine: Session, leader: Leader) -> None:
    """Where people look: in the schedule's problem."""
    mine.execute(SCHEDULES, {"tenant": "flood", "count": 14})
    leader.fire(owed_seconds=1.5)

    def all_fired() -> bool:
        leader.fire_next()
        return jobs(db)[0][1] >= 14

    until(all_fired, what="the turns")
    assert {
        "its times are less than 5 s apart (FAIRLEAD_SCHEDULE_INTERVAL_SECONDS)",
        "its tenant's schedules fire too often (FAIRLEAD_TENANT_FIRES_PER_SECOND is 1)",
    } == problems(db)


def test_a_login_learns_when_its_own_schedules_fired_and_no_others(
    db: Session, mine: Session, log_in: LogIn, leader: Leader
) -> None:
    """By the function that `fairlead schedules list` asks: the fires are the leader's."""
    mine.execute(SCHEDULES, {"tenant": "acme", "count": 1})
    leader.fire(owed_seconds=1.5)
    ((name,),) = db.execute("SELECT DISTINCT schedule FROM fairlead.schedule_fires").fetchall()
    ask = "SELECT fairlead._last_fire('acme', %s) IS NOT NULL"
    logins = (mine, log_in("fairlead_enqueue"), log_in("fairlead_reader"))

    assert [True, False, True] == [
        each.execute(ask, [name]).fetchall()[0][0] for each in logins
    ]


def test_a_fire_is_an_insert_of_who_made_the_schedule(
    db: Session, mine: Session, log_in: LogIn, leader: Leader
) -> None:
    """Who made the schedule follows its jobs, and another application does not."""
    mine.execute(SCHEDULES, {"tenant": "acme", "count": 1})

    leader.fire(owed_seconds=1.5)

    states = "SELECT state FROM fairlead.job_status"
    assert [("pending",)] == mine.execute(states).fetchall()
    assert [] == log_in("fairlead_enqueue").execute(states).fetchall()
    assert [(mine.info.user,)] == db.execute("SELECT enqueued_by FROM fairlead.jobs").fetchall()


def test_payloads_that_are_slow_to_check_take_no_fire_too_long(
    database_url: str, db: Session, mine: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one statement reaches its time limit: what was checked once is stored as it is."""

    def fire(self: ScheduleStore, due: Sequence[DueSchedule]) -> Collection[int]:
        try:
            return plain(self, due)
        except errors.QueryCanceled:
            cancelled.append(len(due))
            raise

    cancelled: list[int] = []
    plain = ScheduleStore.fire
    monkeypatch.setattr(ScheduleStore, "fire", fire)
    mine.execute(MANY_SMALL_VALUES)
    mine.execute(SCHEDULES, {"tenant": "quiet", "count": 1})
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        Leader(session, settings, db).fire(owed_seconds=10)

    assert [] == cancelled
    assert {"flood", "quiet"} == {tenant for tenant, _ in jobs(db)}
    assert (True,) == db.execute(
        "SELECT bool_and(j.payload = s.payload) FROM fairlead.jobs j"
        " JOIN fairlead.schedules s ON s.tenant = j.tenant"
        " AND s.name = j.headers ->> 'fairlead.schedule'"
    ).fetchone()
