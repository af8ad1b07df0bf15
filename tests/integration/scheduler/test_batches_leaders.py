"""Leaders that die, or follow each other, complete a batch once; and what it costs them."""

import signal
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest
from psycopg.errors import QueryCanceled

from fairlead.db.statements import load
from fairlead_scheduler.background.batches import Batches
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.batches import (
    LIMITED,
    NOTHING,
    ONE,
    Settled,
    add,
    completions,
    counted,
    finish,
    make,
    settle,
)
from tests.support.logged import Lines
from tests.support.race import Database, lead
from tests.support.schedulers import depose, led, scheduler_process, scheduling
from tests.support.waiting import until

_HALT = """
    CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM FROM public.gate FOR UPDATE; RETURN new; END';
    CREATE TABLE gate (only_row boolean); INSERT INTO gate VALUES (true);
    CREATE TRIGGER z_halt BEFORE INSERT ON fairlead.jobs FOR EACH ROW WHEN (new.kind = 'over')
        EXECUTE FUNCTION halt();
    GRANT ALL ON gate TO PUBLIC
"""
_QUEUED = """
    SELECT q.tenant FROM fairlead.work_queue q JOIN fairlead.batches b
    ON q.job_id = b.completion_job
"""
_BLOCKS = """
    EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
    SELECT * FROM fairlead._settle_batches(%s, 0, 500, 2000, 90)
"""
_HALTED = """
    SELECT pid FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND application_name = 'fairlead scheduler cron'
"""


@pytest.fixture
def epoch(db: Database) -> int:
    """Return the epoch of a leader that does what a test has it do."""
    return lead(db)


@pytest.mark.parametrize("commits", [True, False])
def test_two_that_believe_to_lead_complete_a_batch_once(
    db: Database, connect: Connect, epoch: int, *, commits: bool
) -> None:
    """The second one finds the batch held, and then over, or as it was."""
    batch = make(db)
    finish(db, add(db, batch, count=3))
    first = connect(autocommit=False)
    assert ONE == settle(first, epoch)

    assert NOTHING == settle(db, epoch)
    if commits:
        first.commit()
    else:
        first.rollback()

    assert (NOTHING if commits else ONE) == settle(db, epoch)
    assert [{"id": batch, "jobs": 3, "succeeded": 3}] == completions(db)


def test_a_deposed_leader_counts_nothing(db: Database, epoch: int) -> None:
    """Its statement asks for its epoch."""
    batch = make(db)
    finish(db, add(db, batch))
    lead(db)

    settle(db, epoch)

    assert {} == counted(db, batch)
    assert [] == completions(db)


@pytest.mark.parametrize("server_notices", [True, False])
def test_a_leader_that_is_killed_in_the_middle_leaves_one_completion_to_the_next(
    db: Database, connect: Connect, database_url: str, *, server_notices: bool
) -> None:
    """Its statement was undone, or the server, which nobody told, went on and committed it."""
    db.execute(_HALT)
    gate = connect(autocommit=False)
    gate.execute("SELECT FROM gate FOR UPDATE")
    batch = make(db)
    finish(db, add(db, batch, count=3))
    with scheduler_process(database_url, lease_seconds=4) as killed:
        (pid,) = until(lambda: db.execute(_HALTED).fetchone(), what="a halted completion")
        epoch = led(db)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    if server_notices:
        db.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with scheduling(database_url, lease_seconds=4):
        gate.rollback()
        led(db, after=epoch)
        until(lambda: completions(db), what="the completion")
        db.execute(
            "UPDATE fairlead.batches SET problem = 'looked at' WHERE completed_at IS NULL"
        )
        with db.transaction():  # a batch without a job is over as soon as it is seen
            jobs = add(db, (other := make(db)))
        finish(db, jobs)
        until(lambda: len(completions(db)) > 1, what="another batch's completion")

    assert [
        {"id": batch, "jobs": 3, "succeeded": 3},
        {"id": other, "jobs": 1, "succeeded": 1},
    ] == sorted(completions(db), key=lambda each: each["id"])


def test_leaders_that_follow_each_other_count_every_job_once(
    db: Database, database_url: str
) -> None:
    """Each goes on where the one before has stopped."""
    batch = make(db)
    jobs = add(db, batch, count=2000)
    with scheduling(database_url), scheduling(database_url):
        for start in range(0, 2000, 400):
            finish(db, jobs[start : start + 400])
            expected = {"succeeded": start + 400}
            until(partial(is_counted, db, batch, expected), what=f"{expected} to be counted")
            depose(db)
        until(lambda: completions(db), what="the completion")

    assert [{"id": batch, "jobs": 2000, "succeeded": 2000}] == completions(db)


def is_counted(db: Database, batch: int, expected: dict[str, int]) -> bool:
    """Return whether so much of a batch is counted."""
    return counted(db, batch) == expected


def test_a_large_batch_is_counted_in_steps_and_others_have_their_turn(
    db: Database, epoch: int
) -> None:
    """A thousand jobs of it at a time, and a limit for each statement."""
    large = make(db)
    finish(db, add(db, large, count=2500))
    small = make(db)
    finish(db, add(db, small))

    assert Settled(0, 0, more=True, reached_id=small - 1) == settle(db, epoch, limit=1000)
    assert ONE == settle(db, epoch, after=small - 1, limit=1000)
    assert [{"id": small, "jobs": 1, "succeeded": 1}] == completions(db)
    assert {"succeeded": 1000} == counted(db, large)
    assert Settled(0, 0, more=True, reached_id=None) == settle(db, epoch)
    assert ONE == settle(db, epoch)
    assert {"succeeded": 2500} == counted(db, large)


def test_batches_are_looked_at_page_by_page(db: Database, epoch: int) -> None:
    """A step answers behind which one the next page begins."""
    first, second, third = (make(db) for _ in range(3))

    assert Settled(2, 0, more=False, reached_id=second) == settle(db, epoch, batches=2)
    assert ONE == settle(db, epoch, after=second, batches=2)
    assert [first, second, third] == [each["id"] for each in completions(db)]


def test_batches_are_deleted_after_their_retention(db: Database, epoch: int) -> None:
    """Oldest first, a bounded number of rows, and with the notes that an erasure has left."""
    old, older, new = (make(db) for _ in range(3))
    settle(db, epoch)
    db.execute("INSERT INTO fairlead.batch_jobs (batch, job_id) VALUES (%s, 1)", [older])
    for batch, days in ((old, 91), (older, 92), (new, 89)):
        db.execute(
            "UPDATE fairlead.batches SET completed_at = now() - %s * interval '1 day'"
            " WHERE id = %s",
            [days, batch],
        )

    def forget(limit: int) -> object:
        values = {"epoch": epoch, "days": 90, "limit": limit}
        row = db.execute(load("fairlead_scheduler.background", "forget_batches"), values)
        return row.fetchone()

    left = "SELECT id FROM fairlead.batches ORDER BY id"
    assert (1,) == forget(1)
    assert [(old,), (older,), (new,)] == db.execute(left).fetchall()
    assert (1,) == forget(1)
    assert [(old,), (new,)] == db.execute(left).fetchall()
    assert (1,) == forget(10)
    assert [(new,)] == db.execute(left).fetchall()


def test_a_leader_completes_and_the_completion_runs_like_any_job(
    db: Database, database_url: str
) -> None:
    """It is dispatched in its tenant's lane."""
    with scheduling(database_url):
        batch = make(db, tenant="acme")
        finish(db, add(db, batch))
        until(lambda: completions(db), what="the completion")
        assert ("acme",) == until(lambda: db.execute(_QUEUED).fetchone(), what="its dispatch")


def test_a_look_at_a_batch_that_waits_costs_the_same_however_large_it_is(
    db: Database, epoch: int
) -> None:
    """One note and one job, also of tables that were analysed while they were empty."""
    db.execute("ANALYZE")
    batch = make(db)
    first, *_ = add(db, batch)
    settle(db, epoch)
    small = blocks(db, epoch)
    finish(db, add(db, batch, count=20_000))

    assert NOTHING == settle(db, epoch)
    assert blocks(db, epoch) <= small + 20
    finish(db, [first])
    assert 20_000 == counts_all(db, epoch, batch)


def blocks(db: Database, epoch: int) -> int:
    """Return how many blocks a step of the leader reads."""
    row = db.execute(_BLOCKS, [epoch]).fetchone()
    assert row is not None
    return int(row[0][0]["Plan"]["Shared Hit Blocks"])


def counts_all(db: Database, epoch: int, batch: int) -> int:
    """Settle until nothing is left to count; return how many are, but for the first."""
    while settle(db, epoch).more:
        pass
    return sum(counted(db, batch).values()) - 1


@pytest.fixture
def task(database_url: str, epoch: int) -> Iterator[Batches]:
    """Yield the task of a leader whose statements end after 0.3 s."""
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    with closing(connect_leader(settings, name="cron")) as session:
        session.execute("SET statement_timeout = '300ms'")
        requests = Requests(lambda _: None)
        yield Batches(session, settings, epoch=epoch, requests=requests)


def test_a_step_that_took_too_long_counts_fewer_the_next_time(
    db: Database, connect: Connect, task: Batches
) -> None:
    """So that one which outlasts its time is not begun again for ever."""
    batch = make(db)
    finish(db, add(db, batch, count=1200))
    holder = connect(autocommit=False)
    holder.execute("LOCK TABLE fairlead.batch_jobs")
    with pytest.raises(QueryCanceled):
        task.settle()
    holder.rollback()

    assert task.settle()
    assert {"succeeded": 500} == counted(db, batch)
    while task.settle():
        pass
    assert [{"id": batch, "jobs": 1200, "succeeded": 1200}] == completions(db)


def test_the_leader_logs_that_completions_are_kept_out(
    db: Database, task: Batches, logged: Lines
) -> None:
    """Once, and goes through all pages of a round."""
    make(db, tenant="full")
    other = make(db)
    db.execute(LIMITED)

    assert [False, False] == [task.settle(), task.settle()]

    assert [{"id": other}] == completions(db)
    assert [1] == [
        line["batches"] for line in logged() if line["event"] == "batches.not_completed"
    ]
