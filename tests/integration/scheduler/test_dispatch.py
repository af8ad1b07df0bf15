"""Whatever way a job becomes pending, the leader finds it and puts it into work_queue."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from fairlead_scheduler.leadership.sessions import connect_leader, connect_loop
from fairlead_scheduler.loop.store import LoopStore
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import (
    Database,
    claim,
    claim_one,
    end,
    finish,
    insert,
    insert_one,
    lead,
    places,
)
from tests.support.schedulers import Replica, scheduling
from tests.support.waiting import until


@pytest.fixture
def replica(database_url: str) -> Iterator[Replica]:
    """Yield a scheduler that leads, or soon will."""
    with scheduling(database_url) as running:
        yield running


def queued(db: Database, job: int) -> None:
    """Wait until the job is in work_queue and no worker has it."""
    until(lambda: places(db, job) == ("queued",), what=f"job {job} being queued")


def recent_worker(db: Database, *, lease: str = "1 hour") -> int:
    """Register a worker whose lease ends so long from now."""
    return register(db, slots=100, lease=lease)


def test_only_the_loop_does_not_wait_for_the_disk(database_url: str) -> None:
    """What a crash of the server may undo is a dispatch, and nothing that others build on."""
    settings = SchedulerSettings(database_url=database_url)
    with (
        closing(connect_loop(settings, name="loop")) as loop,
        closing(connect_leader(settings, name="sweeps")) as sweeps,
    ):
        asked = [
            session.execute(
                "SELECT setting, source = 'session' FROM pg_settings"
                " WHERE name = 'synchronous_commit'"
            ).fetchone()
            for session in (loop, sweeps)
        ]

    assert [("off", True), ("on", True)] == asked


def test_a_dispatch_inserts_rows_in_claim_order(database_url: str, db: Database) -> None:
    """Then most of their index entries go to one page, and a claim finds them side by side."""
    leader = LoopStore(db, SchedulerSettings(database_url=database_url), epoch=lead(db))
    last, second, first, third = insert(db, count=4)

    leader.dispatch(
        [
            (last, 30, 1, None),
            (second, 20, 1, None),
            (first, 10, 1, None),
            (third, 20, 1, None),
        ],
        10,
    )

    rows = db.execute("SELECT job_id FROM fairlead.work_queue ORDER BY ctid").fetchall()
    assert [first, second, third, last] == [job for (job,) in rows]


@pytest.mark.usefixtures("replica")
def test_an_inserted_job_is_queued(db: Database) -> None:
    """A plain INSERT is all that an application does."""
    queued(db, insert_one(db))


def test_jobs_that_were_there_before_the_leader_are_queued(
    database_url: str, db: Database
) -> None:
    """A new leader reads what is there."""
    jobs = insert(db, count=5)

    with scheduling(database_url):
        for job in jobs:
            queued(db, job)


@pytest.mark.usefixtures("replica")
def test_a_job_that_is_committed_late_is_queued(db: Database, connect: Connect) -> None:
    """A hole in the tail is probed again until no transaction is left that could fill it."""
    late = connect(autocommit=False)
    job = insert_one(late)
    queued(db, insert_one(db))
    assert () == places(db, job)

    late.commit()

    queued(db, job)


@pytest.mark.usefixtures("replica")
def test_a_transaction_that_is_rolled_back_delays_no_other(
    db: Database, connect: Connect
) -> None:
    """A hole that nothing fills is forgotten, and what comes after it is found."""
    rolled_back = connect(autocommit=False)
    insert(rolled_back, count=3)
    queued(db, insert_one(db))

    rolled_back.rollback()

    queued(db, insert_one(db))


@pytest.mark.usefixtures("replica")
def test_a_job_is_queued_when_it_falls_due_and_waits_from_then_on(db: Database) -> None:
    """Promotion keeps the due time, and every wait counts from when the job was runnable."""
    queued(db, insert_one(db))
    row = db.execute(
        "INSERT INTO fairlead.jobs (kind, run_at) VALUES ('noop', now() + interval '0.4 s')"
        " RETURNING id"
    ).fetchone()
    assert row is not None
    assert ("scheduled",) == places(db, row[0])

    queued(db, row[0])

    punctual = db.execute(
        "SELECT due_at = runnable_at, due_at > created_at FROM fairlead.jobs"
        " JOIN fairlead.work_queue ON job_id = id WHERE id = %s",
        [row[0]],
    ).fetchone()
    assert (True, True) == punctual


@pytest.mark.usefixtures("replica")
def test_a_job_that_fell_due_before_it_was_committed_is_queued(
    db: Database, connect: Connect
) -> None:
    """New rows whose instant has passed are promoted as soon as they are seen."""
    late = connect(autocommit=False)
    row = late.execute(
        "INSERT INTO fairlead.jobs (kind, run_at) VALUES ('noop', now() + interval '0.1 s')"
        " RETURNING id"
    ).fetchone()
    began = late.execute("SELECT now()").fetchone()
    assert row is not None
    assert began is not None
    until(
        lambda: (
            db.execute(
                "SELECT now() > %s::timestamptz + interval '3 s'",
                [began[0]],
            ).fetchone()
            == (True,)
        ),
        what="three seconds going by",
    )
    late.commit()

    queued(db, row[0])


@pytest.mark.usefixtures("replica")
def test_a_job_that_failed_is_queued_again(db: Database) -> None:
    """A retried job draws a new place ahead of its lane's cursor."""
    job = insert_one(db)
    queued(db, job)
    lease = claim_one(db, recent_worker(db))
    assert "scheduled" == end(db, lease, "failed", delay="0.2 s")

    queued(db, job)

    assert 2 == claim_one(db, recent_worker(db)).attempt


@pytest.mark.usefixtures("replica")
def test_what_a_lost_worker_held_is_queued_again(db: Database) -> None:
    """The sweeper marks a worker dead, then takes back what it held."""
    job = insert_one(db)
    queued(db, job)
    claim_one(db, recent_worker(db, lease="1 s"))
    assert ("running",) == places(db, job)

    queued(db, job)

    lost = db.execute("SELECT losses FROM fairlead.jobs WHERE id = %s", [job]).fetchone()
    assert (1,) == lost


@pytest.mark.usefixtures("replica")
def test_a_finished_job_is_not_queued_again(db: Database) -> None:
    """A completed job never runs again, whatever the sweeps find."""
    jobs = insert(db, count=20)
    worker = recent_worker(db)
    ended: set[int] = set()

    def all_ended() -> bool:
        ended.update(finish(db, claim(db, worker)))
        return len(ended) == len(jobs)

    until(all_ended, what="every job ending")
    until(lambda: db.execute("TABLE fairlead.receipts").fetchone() is None, what="receipts")
    assert (0,) == db.execute("SELECT count(*) FROM fairlead.work_queue").fetchone()
    assert (20,) == db.execute("SELECT count(*) FROM fairlead.job_history").fetchone()


@pytest.mark.usefixtures("replica")
def test_a_job_that_expired_ends_without_starting(db: Database) -> None:
    """Expiry ends what has not started, pending or queued."""
    row = db.execute(
        "INSERT INTO fairlead.jobs (kind, expires_at)"
        " VALUES ('noop', now() + interval '1 hour') RETURNING id"
    ).fetchone()
    assert row is not None
    queued(db, row[0])

    db.execute(
        "UPDATE fairlead.jobs SET expires_at = now() + interval '1 s' WHERE id = %s", row
    )
    until(lambda: places(db, row[0]) == ("expired",), what="the job expiring")


@pytest.mark.usefixtures("replica")
def test_a_pause_recalls_what_is_queued_and_a_resume_puts_it_back(db: Database) -> None:
    """No new dispatch from the next tick; what is queued is recalled within two seconds."""
    job = insert_one(db)
    queued(db, job)

    db.execute("SELECT fairlead.pause('default')")
    until(lambda: places(db, job) == ("pending",), what="the recall", seconds=2)
    new = insert_one(db)
    other = db.execute(
        "INSERT INTO fairlead.jobs (queue, kind) VALUES ('other', 'noop') RETURNING id"
    ).fetchone()
    assert other is not None
    queued(db, other[0])
    assert ("pending",) == places(db, new)

    db.execute("SELECT fairlead.resume('default')")
    queued(db, job)
    queued(db, new)


@pytest.mark.usefixtures("replica")
def test_a_pause_ends_by_itself_at_its_end(db: Database) -> None:
    """What has waited for it is dispatched; the audit log says that nobody resumed it."""
    db.execute("SELECT fairlead.pause('default', until => clock_timestamp() + interval '2 s')")
    job = insert_one(db)

    queued(db, job)

    assert [("pause", None), ("resume", "its end has come")] == db.execute(
        "SELECT verb, reason FROM fairlead.audit ORDER BY at, id"
    ).fetchall()
    assert [(True,)] == db.execute(
        "SELECT at >= (details ->> 'until')::timestamptz FROM fairlead.audit"
        " WHERE verb = 'resume'"
    ).fetchall()


@pytest.mark.usefixtures("replica")
def test_a_pause_of_one_tenant_leaves_the_others_alone(db: Database) -> None:
    """A tenant of a queue is paused by itself."""
    db.execute("SELECT fairlead.pause('default', 'loud')")
    rows = db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind) VALUES ('loud', 'noop'), ('quiet', 'noop')"
        " RETURNING id"
    ).fetchall()
    loud, quiet = (int(row[0]) for row in rows)

    queued(db, quiet)

    assert ("pending",) == places(db, loud)


def test_a_queued_row_whose_job_is_gone_is_removed(database_url: str, db: Database) -> None:
    """An administrator's DELETE of a job leaves no row behind that no worker can run."""
    with scheduling(database_url):
        job = insert_one(db)
        queued(db, job)
    db.execute("DELETE FROM fairlead.jobs WHERE id = %s", [job])

    with scheduling(database_url):
        until(lambda: places(db, job) == (), what="the orphan's end")


@pytest.mark.usefixtures("replica")
def test_a_flood_in_one_transaction_does_not_hide_another_tenant(db: Database) -> None:
    """A quiet tenant's job is queued while a flood before it is still being read."""
    recent_worker(db)
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind)"
        " SELECT 'flood', 'noop' FROM generate_series(1, 20000)"
    )
    quiet = db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind) VALUES ('quiet', 'noop') RETURNING id"
    ).fetchone()
    assert quiet is not None

    queued(db, quiet[0])


@pytest.mark.usefixtures("replica")
def test_a_resting_leader_polls_and_finds_jobs_without_a_notification(
    db: Database, connect: Connect
) -> None:
    """A notification that is lost costs one rest."""
    recent_worker(db)
    resting = (
        "SELECT query LIKE '%new_jobs%' FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name LIKE '%scheduler loop'"
    )
    until(lambda: db.execute(resting).fetchone() == (True,), what="the leader at rest")
    silent = connect()
    silent.execute("SET session_replication_role = replica")  # no trigger, so no notification

    queued(db, insert_one(silent))


def test_a_poll_sees_only_jobs_above_the_last_one(database_url: str, db: Database) -> None:
    """It asks for no more than whether a look is worth while."""
    settings = SchedulerSettings(database_url=database_url)
    with closing(connect_loop(settings, name="loop")) as session:
        store = LoopStore(session, settings, epoch=1)
        first = insert_one(db)

        assert store.has_jobs_above(first - 1)
        assert not store.has_jobs_above(first)
