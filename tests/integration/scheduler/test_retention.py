"""Upkeep: partitions come ahead of time and go in time, old rows go in batches."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from fairlead_scheduler.background.retention import Retention
from fairlead_scheduler.leadership.sessions import connect_retention
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.race import Database, insert_one, lead, register, run_one
from tests.support.schedulers import scheduling
from tests.support.waiting import until

Session = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def session(database_url: str) -> Iterator[Session]:
    """Yield the session that upkeep works on."""
    settings = SchedulerSettings(database_url=database_url)
    with closing(connect_retention(settings, name="retention")) as connection:
        yield connection


@pytest.fixture
def upkeep(database_url: str, session: Session, db: Database) -> Retention:
    """Return the upkeep of a leader."""
    settings = SchedulerSettings(database_url=database_url, sweep_max=3)
    return Retention(session, settings, epoch=lead(db))


def make_partition(db: Database, history: str, days_ago: int) -> str:
    """Make the partition of a day that is long past; return its name."""
    row = db.execute(
        "SELECT fairlead._history_partition(%s, d), d, d + 1 FROM (SELECT"
        " (now() AT TIME ZONE 'UTC')::date - %s AS d) x",
        [history, days_ago],
    ).fetchone()
    assert row is not None
    name, first, last = row
    db.execute(
        f"CREATE TABLE fairlead.{name} (LIKE fairlead.job_history INCLUDING ALL)".encode()
    )
    db.execute(
        f"ALTER TABLE fairlead.job_history_{history} ATTACH PARTITION fairlead.{name}"
        f" FOR VALUES FROM ('{first} 00:00+00') TO ('{last} 00:00+00')".encode()
    )
    return str(name)


def keep_row(db: Database, partition: str, *, days_ago: int) -> None:
    """Put a finished job into a partition."""
    columns = "id, created_at, finished_at, attempt, max_attempts, crashes, losses, priority"
    db.execute(
        f"INSERT INTO fairlead.{partition} ({columns}, outcome, queue, tenant, kind)"
        " SELECT 1, d, d, 1, 1, 0, 0, 0, 'succeeded', 'q', 't', 'k'"
        f" FROM (SELECT now() - interval '{days_ago} days' AS d) x".encode()
    )


def tables(db: Database) -> set[str]:
    """Return every table of history."""
    rows = db.execute(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'fairlead'::regnamespace"
        " AND relname LIKE 'job\\_history\\_%%' AND relkind = 'r'"
    ).fetchall()
    return {str(row[0]) for row in rows}


def drop_all(upkeep: Retention) -> None:
    """Do every step that is to be done."""
    until(lambda: not upkeep.drop_partitions(), what="the end of dropping")


def test_partitions_are_made_for_the_days_ahead(upkeep: Retention, db: Database) -> None:
    """At least fourteen days ahead, for each class of outcome; a repeat makes none."""
    for name in tables(db):
        db.execute(f"DROP TABLE fairlead.{name}".encode())

    upkeep.make_partitions()
    made = tables(db)
    upkeep.make_partitions()

    # Yesterday, today and fourteen days more, and a default one.
    assert 2 * 17 == len(made)
    assert made == tables(db)


def test_each_class_of_outcome_has_its_own_retention(upkeep: Retention, db: Database) -> None:
    """Seven days for what succeeded, thirty for the rest."""
    kept = {make_partition(db, "succeeded", 7), make_partition(db, "unsuccessful", 30)}
    old = {make_partition(db, "succeeded", 8), make_partition(db, "unsuccessful", 31)}

    drop_all(upkeep)

    assert kept <= tables(db)
    assert set() == old & tables(db)


def test_a_reader_of_history_holds_up_a_drop_but_nothing_else(
    upkeep: Retention, db: Database, connect: Connect
) -> None:
    """A reader's lock is not waited for: the partition is dropped after the reader has left."""
    old = make_partition(db, "succeeded", 40)
    older = make_partition(db, "unsuccessful", 50)
    reader = connect(autocommit=False)
    reader.execute("SELECT count(*) FROM fairlead.job_history_succeeded")
    drop_all(upkeep)
    lease = run_one(db)
    db.execute("SELECT fairlead.complete(%s, %s)", [lease.job, lease.token])
    assert {old} == {old, older} & tables(db)

    reader.rollback()
    drop_all(upkeep)

    assert set() == {old, older} & tables(db)


def test_rows_past_their_retention_go_while_handlers_keep_the_history_busy(
    upkeep: Retention, db: Database, connect: Connect
) -> None:
    """Emptying a partition locks it alone; dropping it has to wait for open completions."""
    old = make_partition(db, "succeeded", 40)
    keep_row(db, old, days_ago=40)
    handler = connect(autocommit=False)
    lease = run_one(db)
    handler.execute("SELECT fairlead.complete(%s, %s)", [lease.job, lease.token])

    drop_all(upkeep)

    assert (0,) == db.execute(f"SELECT count(*) FROM fairlead.{old}".encode()).fetchone()
    handler.commit()
    drop_all(upkeep)
    assert old not in tables(db)


def test_a_partition_that_was_detached_is_dropped(upkeep: Retention, db: Database) -> None:
    """By an administrator, say: it is past its retention all the same."""
    detached = make_partition(db, "succeeded", 41)
    detach = f"ALTER TABLE fairlead.job_history_succeeded DETACH PARTITION fairlead.{detached}"
    db.execute(detach.encode())

    drop_all(upkeep)

    assert detached not in tables(db)


def test_old_entries_of_the_audit_log_are_deleted_a_batch_at_a_time(
    upkeep: Retention, db: Database
) -> None:
    """After 400 days, unless a setting says otherwise."""
    db.execute(
        "INSERT INTO fairlead.audit (verb, at) SELECT 'pause', now() - make_interval(days => n)"
        " FROM unnest('{1,399,401,402,403,404}'::integer[]) n"
    )

    assert [True, False] == [upkeep.forget_audit() for _ in range(2)]

    assert [(2,)] == db.execute("SELECT count(*) FROM fairlead.audit").fetchall()


def test_periods_that_are_over_are_deleted_a_batch_at_a_time(
    upkeep: Retention, db: Database
) -> None:
    """Those of `unique_for`; who is in one is left."""
    db.execute(
        "INSERT INTO fairlead.unique_periods SELECT 'default', '', int4send(n),"
        " now() + n * interval '1 hour' FROM unnest('{1,0,-1,-2,-3}'::integer[]) n"
    )

    assert [True, False] == [upkeep.forget_periods() for _ in range(2)]

    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.unique_periods").fetchall()


def test_old_errors_and_fires_are_deleted_a_batch_at_a_time(
    upkeep: Retention, db: Database
) -> None:
    """Every deletion is bounded, and a full batch means again at once."""
    db.execute(
        "INSERT INTO fairlead.attempt_errors (job_id, at, attempt, ended_as)"
        " SELECT n, now() - interval '40 days', 1, 'failed' FROM generate_series(1, 5) n"
    )
    db.execute(
        "INSERT INTO fairlead.schedule_fires (tenant, schedule, fire_time, fired_at)"
        " SELECT '', 's', now() - n * interval '1 day', now() - n * interval '1 day'"
        " FROM generate_series(29, 31) n"
    )

    assert [True, False] == [upkeep.forget(), upkeep.forget()]

    assert (0,) == db.execute("SELECT count(*) FROM fairlead.attempt_errors").fetchone()
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.schedule_fires").fetchone()


def test_workers_long_dead_are_forgotten_unless_they_hold_something(
    upkeep: Retention, db: Database
) -> None:
    """A dead worker's row stays while a job says that it has it."""
    holding, empty, recent = run_one(db), register(db), register(db)
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() - interval '2 days'")
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [recent])

    upkeep.forget()

    left = db.execute("SELECT id FROM fairlead.worker_leases ORDER BY id").fetchall()
    assert holding.token
    assert (2, False) == (len(left), (empty,) in left)


def test_windows_of_rates_are_forgotten_when_nothing_is_used_of_them(
    upkeep: Retention, db: Database
) -> None:
    """One that is or was lately in use stays: a rate holds across leaders."""
    db.execute(
        "INSERT INTO fairlead.rate_usage (pool, queue, tenant, per_us, tat_us)"
        " SELECT 'default', 'q', n::text, 1000000,"
        " (extract(epoch FROM now() + n * interval '30 min') * 1000000)::bigint"
        " FROM generate_series(-3, 1) n"
    )

    upkeep.forget()

    left = db.execute("SELECT tenant FROM fairlead.rate_usage ORDER BY tat_us").fetchall()
    assert [("-1",), ("0",), ("1",)] == left[-3:]
    assert ("-3",) not in left


def test_marks_of_pods_are_forgotten_an_hour_after_they_lapsed(
    upkeep: Retention, db: Database
) -> None:
    """Pods come and go; a mark in force, or lately, stays."""
    db.execute(
        "INSERT INTO fairlead.pod_drains (pod_uid, pool, epoch, drain_until)"
        " SELECT n::text, 'default', 1, now() + n * interval '45 min'"
        " FROM generate_series(-2, 1) n"
    )

    upkeep.forget()

    left = db.execute("SELECT pod_uid FROM fairlead.pod_drains ORDER BY drain_until").fetchall()
    assert [("-1",), ("0",), ("1",)] == left


def test_progress_of_attempts_that_are_over_is_deleted(upkeep: Retention, db: Database) -> None:
    """The walk goes through the table a batch at a time and keeps what runs."""
    lease = run_one(db)
    db.execute(
        "INSERT INTO fairlead.job_progress (job_id, token, fraction)"
        " SELECT n, 0, 0.5 FROM generate_series(1000, 60000) n"
    )
    db.execute(
        "INSERT INTO fairlead.job_progress (job_id, token, fraction) VALUES (%s, %s, 0.5)",
        [lease.job, lease.token],
    )

    until(lambda: not upkeep.forget_progress(), what="the end of the walk")

    left = db.execute("SELECT job_id FROM fairlead.job_progress").fetchall()
    assert [(lease.job,)] == left


def test_a_deposed_leader_forgets_nothing(upkeep: Retention, db: Database) -> None:
    """Deletions are writes of the leader, and fenced like all of them."""
    db.execute(
        "INSERT INTO fairlead.attempt_errors (job_id, at, attempt, ended_as)"
        " VALUES (1, now() - interval '40 days', 1, 'failed')"
    )
    db.execute("INSERT INTO fairlead.job_progress (job_id, token, fraction) VALUES (1, 1, 0.5)")
    db.execute(
        "INSERT INTO fairlead.pod_drains (pod_uid, pool, epoch, drain_until)"
        " VALUES ('uid', 'default', 1, now() - interval '1 day')"
    )
    lead(db)

    upkeep.forget()
    upkeep.forget_progress()
    upkeep.forget_orphans()

    assert (1,) == db.execute("SELECT count(*) FROM fairlead.attempt_errors").fetchone()
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.job_progress").fetchone()
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.pod_drains").fetchone()


def test_the_leader_does_all_of_it_by_itself(database_url: str, db: Database) -> None:
    """Upkeep runs beside the loop from the beginning of a term."""
    old = make_partition(db, "succeeded", 40)
    db.execute(
        "INSERT INTO fairlead.attempt_errors (job_id, at, attempt, ended_as)"
        " VALUES (1, now() - interval '40 days', 1, 'failed')"
    )
    with scheduling(database_url):
        insert_one(db)
        until(lambda: old not in tables(db), what="the drop")
        until(
            lambda: db.execute("TABLE fairlead.attempt_errors").fetchone() is None,
            what="the deletion",
        )
