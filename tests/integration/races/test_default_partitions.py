"""Endings go on without a partition of their day, and move there when it can be made."""

from time import monotonic

import psycopg
import pytest
from psycopg.errors import LockNotAvailable

from tests.conftest import Background, Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    cancel,
    claim,
    complete,
    end,
    finish,
    insert,
    insert_one,
    places,
    register,
    run_one,
)
from tests.support.schedulers import scheduling
from tests.support.waiting import until

MAKE = "make_history_partitions(%s)"
_DAYS = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind = 'r'
      AND c.relname ~ '^job_history_.*_[0-9]{8}$'
"""
_LATE = """
    SELECT count(*) FROM fairlead.job_history WHERE tableoid::regclass::text LIKE '%_default'
"""

_LATER = """
    CREATE TABLE public.moved (locked boolean);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.moved SELECT EXISTS (
            SELECT FROM pg_locks l
            WHERE l.pid = pg_backend_pid() AND l.relation = tg_relid
              AND l.mode = 'AccessExclusiveLock')
        FROM gone;
        IF (SELECT count(*) FROM public.moved) = 1 THEN
            INSERT INTO fairlead.job_history_succeeded_default
            SELECT (jsonb_populate_record(
                null::fairlead.job_history_succeeded_default, to_jsonb(g) || '{"id": 9999}')).*
            FROM gone g;
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER DELETE ON fairlead.job_history_succeeded_default
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.note();
"""
"""Another ending comes when the first has moved; `moved` says if each did under the lock."""


@pytest.fixture(autouse=True)
def step_of_the_clock(db: Database) -> None:
    """Leave no partition for any day, as a step of the clock beyond all of them does."""
    for (name,) in db.execute(_DAYS).fetchall():
        db.execute(f"DROP TABLE fairlead.{name}".encode())


def late(db: Database) -> int:
    """Count the endings in default partitions."""
    row = db.execute(_LATE.encode()).fetchone()
    assert row is not None
    return int(row[0])


def days(db: Database) -> int:
    """Count the partitions of days."""
    return len(db.execute(_DAYS).fetchall())


def test_every_kind_of_ending_is_stored_without_a_partition_of_its_day(db: Database) -> None:
    """By a worker, by a handler, by a last failure and by hand; then each moves, once."""
    finished, completed, failed = (run_one(db) for _ in range(3))
    cancelled = insert_one(db)
    db.execute("UPDATE fairlead.jobs SET max_attempts = 1 WHERE id = %s", [failed.job])

    assert (finished.job,) == finish(db, [finished])
    assert "" == complete(db, completed)
    assert "failed" == end(db, failed, "failed")
    cancel(db, cancelled)

    jobs = (finished.job, completed.job, failed.job, cancelled)
    outcomes = [("succeeded",), ("succeeded",), ("failed",), ("cancelled",)]
    assert outcomes == [places(db, job) for job in jobs]
    assert 4 == late(db)
    assert 2 * 2 == answer(db, MAKE, 0)
    assert outcomes == [places(db, job) for job in jobs]
    assert 0 == late(db)


def test_endings_go_on_while_a_reader_keeps_the_partition_from_being_made(
    db: Database, connect: Connect
) -> None:
    """The maker gives up within a moment, warns, and is as good as not called."""
    reader, maker = connect(autocommit=False), connect()
    said: list[str] = []
    maker.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
    first, second = run_one(db), run_one(db)
    finish(db, [first])
    reader.execute("SELECT count(*) FROM fairlead.job_history")

    began = monotonic()
    assert 0 == answer(maker, MAKE, 14)
    assert monotonic() - began < 5
    assert (second.job,) == finish(db, [second])

    assert [True, True] == ["another session holds a lock" in each for each in said]
    reader.commit()
    assert 2 * 16 == answer(maker, MAKE, 14)
    assert [("succeeded",)] * 2 == [places(db, each.job) for each in (first, second)]
    assert 0 == late(db)


def test_endings_go_on_beside_a_handlers_transaction_that_has_ended_its_job(
    db: Database, connect: Connect
) -> None:
    """It stands in the default partition for as long as it is open."""
    handler = connect(autocommit=False)
    first, second = run_one(db), run_one(db)
    assert "" == complete(handler, first)

    assert 2 == answer(db, MAKE, 0)  # of the class that it has not written to
    assert (second.job,) == finish(db, [second])
    handler.commit()

    assert 2 == answer(db, MAKE, 0)
    assert [("succeeded",)] * 2 == [places(db, each.job) for each in (first, second)]
    assert 0 == late(db)


def test_endings_go_on_while_an_installer_holds_its_lock(
    db: Database, connect: Connect
) -> None:
    """No partition is made beside a migration, which may take long."""
    installer = connect(autocommit=False)
    installer.execute("LOCK TABLE fairlead.schema_versions IN SHARE ROW EXCLUSIVE MODE")
    lease = run_one(db)
    db.execute("SET statement_timeout = '5s'")

    assert 0 == answer(db, MAKE, 0)
    assert (lease.job,) == finish(db, [lease])
    installer.commit()

    assert 2 * 2 == answer(db, MAKE, 0)
    assert 0 == late(db)


def test_an_ending_that_comes_while_the_partition_is_made_waits_and_is_stored(
    db: Database, connect: Connect, background: Background
) -> None:
    """It was on its way to the default partition; a repeat stores it in the new one."""
    maker, worker = connect(autocommit=False), connect()
    first, second = run_one(db), run_one(db)
    finish(db, [first])
    assert 2 * 2 == answer(maker, MAKE, 0)
    ending = background(lambda: finish(worker, [second]))
    until(lambda: waits(db, worker), what="the ending waiting")
    maker.commit()

    if ending.exception(10) is not None:
        assert (second.job,) == finish(worker, [second])
    assert [("succeeded",)] * 2 == [places(db, each.job) for each in (first, second)]
    assert 0 == late(db)


def waits(db: Database, other: Database) -> bool:
    """Return whether another connection waits for a lock."""
    row = db.execute(
        "SELECT true FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'",
        [other.info.backend_pid],
    ).fetchone()
    return row == (True,)


def test_endings_of_any_day_get_a_partition_of_it(db: Database) -> None:
    """Also of one long past or far ahead, where the clock was for a while; a drop finds it."""
    lease = run_one(db)
    finish(db, [lease])
    for day in ("1970-01-01", "2100-01-01"):
        db.execute(
            "INSERT INTO fairlead.job_history SELECT (jsonb_populate_record(h,"
            " jsonb_build_object('finished_at', %s::text))).* FROM fairlead.job_history h"
            " WHERE id = %s LIMIT 1",
            [day, lease.job],
        )
    assert 3 == late(db)

    answer(db, MAKE, 0)

    assert 0 == late(db)
    names = {name for (name,) in db.execute(_DAYS).fetchall()}
    assert {
        "job_history_succeeded_19700101",
        "job_history_succeeded_21000101",
    } <= names
    steps = [
        db.execute("SELECT * FROM fairlead.drop_history_partitions(7, 30)").fetchall()
        for _ in range(3)
    ]
    name = "job_history_succeeded_19700101"
    assert [[(name, "emptied")], [(name, "dropped")], []] == steps


def test_many_endings_move_whole(db: Database) -> None:
    """In several passes, of which the last keeps endings waiting."""
    count = len(insert(db, count=2500))
    db.execute(
        "SELECT fairlead._end_jobs(array_agg(id), array_agg('succeeded'::text))"
        " FROM fairlead.jobs"
    )
    assert count == late(db)

    answer(db, MAKE, 0)

    row = db.execute("SELECT count(*), count(DISTINCT id) FROM fairlead.job_history").fetchone()
    assert (count, count) == row
    assert 0 == late(db)


def test_the_leader_makes_a_missing_partition_within_seconds(
    database_url: str, db: Database
) -> None:
    """Whoever took it away, and not an hour later."""
    with scheduling(database_url):
        until(lambda: days(db) >= 2 * 16, what="the partitions of a new term")
        step = [name for (name,) in db.execute(_DAYS).fetchall()]
        for name in step:
            db.execute(f"DROP TABLE fairlead.{name}".encode())
        worker, job = register(db), insert_one(db)
        (lease,) = until(lambda: claim(db, worker), what="a claim")
        assert (job,) == finish(db, [lease])

        until(lambda: days(db) >= 2 * 2, what="today's partition", seconds=15)
        until(lambda: late(db) == 0, what="the ending moving", seconds=15)

    assert ("succeeded",) == places(db, job)


def test_a_default_partition_that_is_missing_is_made(db: Database) -> None:
    """As at the upgrade from a version that had none."""
    db.execute("DROP TABLE fairlead.job_history_succeeded_default")

    assert 1 + 2 * 2 == answer(db, MAKE, 0)

    owners = db.execute(
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_partition_tree("
        " 'fairlead.job_history') JOIN pg_class ON oid = relid"
    ).fetchall()
    assert 1 == len(owners)


@pytest.mark.parametrize(
    ("erasing", "erased"),
    [("_erase_history('', 0, 100)", 1), ("redact(%s)", "redacted")],
)
def test_an_ending_that_moves_is_not_missed(
    db: Database, connect: Connect, outwait: Outwait, erasing: str, erased: object
) -> None:
    """Whoever erases it waits for the move, and finds it in the partition of its day."""
    mover, eraser = connect(autocommit=False), connect()
    lease = run_one(db)
    finish(db, [lease])
    db.execute("UPDATE fairlead.job_history SET error = 'secret'")
    assert 2 * 2 == answer(mover, MAKE, 0)
    values = [lease.job] * erasing.count("%s")

    said = outwait(lambda: answer(eraser, erasing, *values), waiting=eraser, holder=mover)

    assert erased == said
    left = db.execute("SELECT FROM fairlead.job_history WHERE error IS NOT NULL").fetchall()
    assert [] == left


def test_a_move_gives_up_while_what_it_moves_is_erased(
    db: Database, connect: Connect, background: Background
) -> None:
    """Who erases an ending has its partition locked, which a move has to lock in the end."""
    mover, eraser = connect(autocommit=False), connect()
    finish(db, [run_one(db)])
    today = "(now() AT TIME ZONE 'UTC')::date"
    answer(mover, f"_make_history_table('succeeded', {today})")
    assert 1 == answer(mover, f"_move_late_endings('succeeded', {today})")
    erased = background(lambda: answer(eraser, "_erase_history('', 0, 100)"))
    until(lambda: waits(db, eraser), what="the erasure waiting")

    mover.execute("SET LOCAL lock_timeout = '50ms'")
    with pytest.raises(LockNotAvailable):
        mover.execute(
            "LOCK TABLE ONLY fairlead.job_history_succeeded_default IN ACCESS EXCLUSIVE MODE"
        )
    mover.rollback()

    assert 1 == erased.result(10)
    assert [] == db.execute("SELECT FROM fairlead.job_history").fetchall()


def test_an_ending_that_comes_meanwhile_moves_before_the_partition_is_locked(
    db: Database,
) -> None:
    """Under its lock nothing is left to move, be it a thousand endings of 1 MiB each."""
    finish(db, [run_one(db)])
    db.execute(_LATER.encode())

    answer(db, MAKE, 0)

    assert [(False,), (False,)] == db.execute("SELECT locked FROM public.moved").fetchall()
    assert 0 == late(db)


def test_no_ending_moves_while_a_reader_has_the_default_partition(
    db: Database, connect: Connect
) -> None:
    """What is moved in vain is moved back, and each try would move all of it."""
    reader = connect(autocommit=False)
    finish(db, [run_one(db)])
    reader.execute("SELECT FROM fairlead.job_history_succeeded_default")

    answer(db, MAKE, 0)

    reader.commit()
    untouched = "SELECT xmax::text FROM fairlead.job_history_succeeded_default"
    assert [("0",)] == db.execute(untouched).fetchall()


def test_a_snapshot_from_before_a_move_sees_the_endings(db: Database, connect: Connect) -> None:
    """Such as that of a dump, which opens the partitions one after the other."""
    reader = connect(autocommit=False)
    finish(db, [run_one(db)])
    reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    reader.execute("SELECT 1")

    assert 2 * 2 == answer(db, MAKE, 0)

    assert (1,) == reader.execute("SELECT count(*) FROM fairlead.job_history").fetchone()


@pytest.mark.parametrize("erasing", ["_erase_history('', 0, 100)", "redact(1)"])
def test_nothing_is_erased_by_an_old_snapshot(
    db: Database, connect: Connect, erasing: str
) -> None:
    """It would not see what has moved since, and answer that nothing is left."""
    eraser = connect(autocommit=False)
    eraser.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    finish(db, [run_one(db)])
    eraser.execute("SELECT 1")
    answer(db, MAKE, 0)

    with pytest.raises(psycopg.Error, match="needs READ COMMITTED"):
        answer(eraser, erasing)


def test_days_ahead_wait_until_a_large_default_partition_is_vacuumed(db: Database) -> None:
    """It is read for each one that is attached, under the lock that keeps others out."""
    finish(db, [run_one(db)])
    db.execute(
        "INSERT INTO fairlead.job_history SELECT (jsonb_populate_record(h,"
        " jsonb_build_object('error', repeat('x', 1800)))).* FROM fairlead.job_history h,"
        " generate_series(1, 9000)"
    )

    assert 2 * 2 == answer(db, MAKE, 0)
    assert 3 == answer(db, MAKE, 3)  # of the other class
    assert 0 == late(db)

    db.execute("VACUUM (INDEX_CLEANUP ON) fairlead.job_history_succeeded_default")
    assert 3 == answer(db, MAKE, 3)
