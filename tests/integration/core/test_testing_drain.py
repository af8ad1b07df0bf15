"""`drain` does what a scheduler and a worker would do, in the test's own process."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead import testing
from tests.support.children import register
from tests.support.dispatching import dispatch_all
from tests.support.testing_app import noting, outcomes
from tests.support.waiting import until

HOUR = timedelta(hours=1)

_HELD = "SELECT worker, token FROM fairlead.work_queue"


@pytest.fixture
def tasks() -> fairlead.Tasks:
    """Return an application of the test's own."""
    return fairlead.Tasks()


def test_a_retry_that_is_due_runs_in_the_same_drain(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """What falls due is promoted, as the leader would do."""

    @tasks.handler("shaky")
    def shaky(job: fairlead.Job) -> str:
        if job.attempt < 3:
            raise fairlead.Retry("not yet", after=0)
        return "third time"

    fairlead.enqueue(db, "shaky")

    drained = testing.drain(tasks, database_url)

    assert [(1, "retried"), (2, "retried"), (3, "succeeded")] == outcomes(drained)
    assert "third time" == drained.endings[-1].result


def test_a_drain_runs_on_a_server_that_was_promoted_since_anybody_led(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """The epoch of before is over, and it begins one; the next drain uses that."""
    ran = noting(tasks)
    db.execute("UPDATE fairlead.leaders SET timeline = 0")

    for number in (1, 2):
        fairlead.enqueue(db, "note", number)
        testing.drain(tasks, database_url)

    assert [1, 2] == ran
    epoch = "SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'"
    assert [(1_000_000_000_001,)] == db.execute(epoch).fetchall()


def test_what_fell_due_runs_in_the_order_of_time(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """As the leader would have made it pending, one after the other."""
    ran = noting(tasks)
    for minutes in (1, 3, 2):
        fairlead.enqueue(db, "note", minutes, run_at=datetime.now(UTC) + HOUR)
    ago = "UPDATE fairlead.jobs SET run_at = now() - interval '1 min' * payload::text::integer"
    db.execute(ago)

    testing.drain(tasks, database_url)

    assert [3, 2, 1] == ran


def test_a_back_off_ends_in_another_drain_however_short_it_is(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """It takes a random time: whether it is over by the drain's end must not decide a test."""

    @tasks.handler("fail")
    def fail(_job: fairlead.Job) -> None:
        raise fairlead.Retry(after=0.001)

    @tasks.handler("wait")
    def wait(_job: fairlead.Job) -> None:
        over = "SELECT run_at < clock_timestamp() FROM fairlead.jobs WHERE kind = 'fail'"
        until(lambda: db.execute(over).fetchone() == (True,), what="the end of the back-off")

    fairlead.enqueue(db, "fail")
    fairlead.enqueue(db, "wait")

    assert [(1, "retried"), (1, "succeeded")] == outcomes(testing.drain(tasks, database_url))
    assert [(2, "retried")] == outcomes(testing.drain(tasks, database_url))


def test_a_job_that_is_not_due_waits(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Without `now`, time does not pass."""
    noting(tasks)
    fairlead.enqueue(db, "note", 1, run_at=datetime.now(UTC) + HOUR)

    assert () == testing.drain(tasks, database_url).endings
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()


def test_now_lets_time_pass_in_the_order_of_time(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Scheduled jobs, retries and snoozed jobs run as if the fleet had been left to it."""
    ran = noting(tasks)
    start = datetime.now(UTC)

    @tasks.handler("later")
    def later(job: fairlead.Job) -> None:
        ran.append(f"later {job.attempt}")
        raise fairlead.Retry(after=HOUR)

    fairlead.enqueue(db, "note", "in 90 minutes", run_at=start + 1.5 * HOUR)
    fairlead.enqueue(db, "later", max_attempts=2)
    fairlead.enqueue(db, "note", "in 30 minutes", run_at=start + 0.5 * HOUR)
    fairlead.enqueue(db, "note", "in 3 hours", run_at=start + 3 * HOUR)

    testing.drain(tasks, database_url, now=start + 2 * HOUR)

    assert ["later 1", "in 30 minutes", "later 2", "in 90 minutes"] == ran


def test_a_job_that_snoozes_for_ever_runs_as_often_as_there_is_time(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Its next time counts from the instant that has been reached, so that the drain ends."""

    @tasks.handler("poll")
    def poll(_job: fairlead.Job) -> None:
        raise fairlead.Snooze(for_=timedelta(minutes=10))

    fairlead.enqueue(db, "poll")
    start = datetime.now(UTC)

    drained = testing.drain(tasks, database_url, now=start + 0.9 * HOUR)

    assert [(1, "snoozed")] * 6 == outcomes(drained)
    row = db.execute("SELECT run_at FROM fairlead.jobs").fetchone()
    assert row is not None
    assert timedelta(minutes=60) <= row[0] - start < timedelta(minutes=61)


def test_time_does_not_go_back_for_a_job_that_is_late(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """What a handler schedules by the clock may be due already at the instant reached."""
    start = datetime.now(UTC)

    @tasks.handler("schedule")
    def schedule(_job: fairlead.Job) -> None:
        fairlead.enqueue(db, "poll", run_at=start + timedelta(minutes=10))

    @tasks.handler("poll")
    def poll(_job: fairlead.Job) -> None:
        raise fairlead.Snooze(for_=timedelta(minutes=10))

    fairlead.enqueue(db, "schedule", run_at=start + 1.5 * HOUR)

    drained = testing.drain(tasks, database_url, now=start + 1.9 * HOUR)

    assert {"succeeded": 1, "snoozed": 3} == drained.counts


def test_now_needs_a_time_zone(tasks: fairlead.Tasks, database_url: str) -> None:
    """An instant without one would mean another time elsewhere."""
    with pytest.raises(ValueError, match=r"now .* has no time zone: give one, such as UTC"):
        testing.drain(tasks, database_url, now=datetime(2030, 1, 1))  # noqa: DTZ001 - it is the mistake


def test_only_the_queues_that_are_named_are_drained(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """A name or several; what had been dispatched from another queue is left as well."""
    ran = noting(tasks)
    for queue in ("mail", "reports", "mail", "default"):
        fairlead.enqueue(db, "note", queue, queue=queue)
    soon = datetime.now(UTC) + HOUR
    for queue in ("default", "mail"):
        fairlead.enqueue(db, "note", f"{queue} soon", queue=queue, run_at=soon)
    dispatch_all(db)

    testing.drain(tasks, database_url, queues="mail", now=soon + HOUR)
    assert ["mail", "mail", "mail soon"] == ran
    assert [None, soon] == [each.run_at for each in testing.enqueued(db, queue="default")]

    testing.drain(tasks, database_url, queues=["default", "reports"])
    assert ["mail", "mail", "mail soon", "reports", "default"] == ran


def test_a_job_that_was_queued_for_a_worker_is_drained_too(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """A fleet that was stopped leaves dispatched jobs, and jobs of workers that are dead."""
    ran = noting(tasks)
    for name in ("queued", "held by the dead"):
        fairlead.enqueue(db, "note", name)
    dispatch_all(db)
    worker = register(db)
    held = "UPDATE fairlead.work_queue SET worker = %s, token = 1, claimed_at = now()"
    db.execute(f"{held} WHERE job_id = (SELECT max(id) FROM fairlead.jobs)", [worker])
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now()")

    testing.drain(tasks, database_url)

    assert ["queued", "held by the dead"] == ran


def test_a_queued_row_whose_job_is_gone_is_dropped(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """It does not prevent a drain."""
    ran = noting(tasks)
    fairlead.enqueue(db, "note", "gone")
    dispatch_all(db)
    db.execute("DELETE FROM fairlead.jobs")
    db.execute("UPDATE fairlead.work_queue SET vtag = 0")
    fairlead.enqueue(db, "note", "here")

    drained = testing.drain(tasks, database_url)

    assert ["here"] == ran
    assert [(1, "succeeded")] == outcomes(drained)
    assert [] == db.execute(_HELD).fetchall()


def test_a_paused_queue_is_not_drained(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """As the scheduler does not dispatch it."""
    ran = noting(tasks)
    db.execute("SELECT fairlead.pause('mail'), fairlead.pause('default', 'acme')")
    fairlead.enqueue(db, "note", "mail", queue="mail")
    fairlead.enqueue(db, "note", "acme", tenant="acme")
    fairlead.enqueue(db, "note", "other", tenant="other")

    testing.drain(tasks, database_url)

    assert ["other"] == ran


def test_a_drain_stops_after_so_many_attempts(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """The rest stays pending, unclaimed, for the next drain."""
    ran = noting(tasks)
    for number in range(3):
        fairlead.enqueue(db, "note", number)

    with pytest.raises(ValueError, match="jobs_max must be at least 1, not 0"):
        testing.drain(tasks, database_url, jobs_max=0)
    assert 2 == len(testing.drain(tasks, database_url, jobs_max=2).endings)
    assert [0, 1] == ran
    assert [] == db.execute(_HELD).fetchall()

    testing.drain(tasks, database_url, jobs_max=2)
    assert [0, 1, 2] == ran


def test_higher_priority_first_and_then_in_the_order_they_came(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Also of what a handler enqueues."""
    ran = noting(tasks)

    @tasks.handler("fan_out")
    def fan_out(_job: fairlead.Job) -> None:
        fairlead.enqueue(db, "note", "last")
        fairlead.enqueue(db, "note", "urgent", priority=9)

    fairlead.enqueue(db, "fan_out", priority=2)
    fairlead.enqueue(db, "note", "first", priority=5)
    fairlead.enqueue(db, "note", "plain")

    testing.drain(tasks, database_url)

    assert ["first", "urgent", "plain", "last"] == ran


def test_a_handler_may_cancel_a_job_that_is_to_come(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Nothing is claimed before its turn."""
    ran = noting(tasks)

    @tasks.handler("cancel")
    def cancel(job: fairlead.Job) -> None:
        assert ("cancelled",) == db.execute(
            "SELECT fairlead.cancel(%s)", [job.payload]
        ).fetchone()

    fairlead.enqueue(db, "cancel", (fairlead.enqueue(db, "note", 1, priority=-1) or 0))

    drained = testing.drain(tasks, database_url)

    assert [(1, "succeeded")] == outcomes(drained)
    assert [] == ran


def test_every_sort_of_handler_runs_in_this_process(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Coroutines, functions and those of `process=True`; also in a test that has a loop."""

    @tasks.handler("async", concurrency=1)
    async def one(_job: fairlead.Job) -> str:
        await asyncio.sleep(0)
        return "async"

    @tasks.handler("sync")
    def two(_job: fairlead.Job) -> str:
        return "sync"

    @tasks.handler("process", process=True)
    def three(_job: fairlead.Job) -> str:
        return "process"

    async def test() -> testing.Drained:
        return testing.drain(tasks, database_url)

    kinds = ["async", "sync", "process"]
    assert [one.function, two.function, three.function] == [
        tasks.handlers[kind].run for kind in kinds
    ]
    for _ in range(2):
        for kind in kinds:
            fairlead.enqueue(db, kind)

    assert kinds == [
        each.result for each in testing.drain(tasks, database_url, jobs_max=3).endings
    ]
    assert kinds == [each.result for each in asyncio.run(test()).endings]


def test_coroutines_of_one_drain_share_an_event_loop(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """A pool or a client that one of them has opened serves the next, as in a worker."""
    loops: set[int] = set()

    @tasks.handler("loop")
    async def note(_job: fairlead.Job) -> None:
        loops.add(id(asyncio.get_running_loop()))

    fairlead.enqueue(db, "loop")
    fairlead.enqueue(db, "loop")

    testing.drain(tasks, database_url)

    assert 1 == len(loops)
