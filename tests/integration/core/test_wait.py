"""Who waits for a job's end is told by a notification, and nobody else pays for it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead import waiting
from tests.support import race
from tests.support.logins import LogIn
from tests.support.race import Lease
from tests.support.waiting import notified, until

_AWAIT = "SELECT fairlead._await_ending(%s)"
_WAITS = "SELECT job_id FROM fairlead.waits ORDER BY job_id"
_SOMEBODY_WAITS = "SELECT 1 WHERE pg_sequence_last_value('fairlead.awaited_until') IS NOT NULL"


def finished(db: Connection[TupleRow], lease: Lease) -> str:
    """As a worker ends it."""
    assert (lease.job,) == race.finish(db, [lease])
    return "succeeded"


def completed(db: Connection[TupleRow], lease: Lease) -> str:
    """As a handler does, in its own transaction."""
    assert "" == race.complete(db, lease)
    return "succeeded"


def failed(db: Connection[TupleRow], lease: Lease) -> str:
    """For good: it had one attempt."""
    assert "failed" == race.end(db, lease, "failed")
    return "failed"


def cancelled(db: Connection[TupleRow], lease: Lease) -> str:
    """By somebody, while it waits again."""
    race.end(db, lease, "returned")
    assert "cancelled" == race.cancel(db, lease.job)
    return "cancelled"


ENDINGS = pytest.mark.parametrize("end", [finished, completed, failed, cancelled])
End = Callable[[Connection[TupleRow], Lease], str]


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return what is set once a wait rests until a notification, which alone ends the rest."""
    event = threading.Event()
    pause, pause_async = waiting.pause, waiting.pause_async

    def observed(connection: Connection[object], looks: waiting.Looks, seconds: float) -> None:
        event.set()
        pause(connection, looks, seconds)

    async def observed_async(
        connection: psycopg.AsyncConnection[object], looks: waiting.Looks, seconds: float
    ) -> None:
        event.set()
        await pause_async(connection, looks, seconds)

    monkeypatch.setattr(waiting, "pause", observed)
    monkeypatch.setattr(waiting, "pause_async", observed_async)
    monkeypatch.setattr(waiting, "TOLD", waiting.Pace(1.0, 60.0, 60.0))
    return event


def running(db: Connection[TupleRow]) -> Lease:
    """Have a worker run a job of one attempt."""
    job = fairlead.enqueue(db, "k", max_attempts=1)
    assert job is not None
    race.dispatch(db, [job], epoch=race.lead(db))
    return race.claim_one(db, race.register(db))


@ENDINGS
def test_a_notification_ends_a_wait(
    database_url: str, db: Connection[TupleRow], rests: threading.Event, end: End
) -> None:
    """However the job ends; without one this wait would look again after a minute."""
    lease = running(db)

    with ThreadPoolExecutor() as threads:
        waits = threads.submit(fairlead.wait, database_url, lease.job, timeout=15)
        assert rests.wait(10)
        outcome = end(db, lease)

        assert outcome == waits.result().state


def test_a_notification_ends_an_asynchronous_wait(
    database_url: str, db: Connection[TupleRow], rests: threading.Event
) -> None:
    """And leaves the connection as it was."""
    lease = running(db)

    async def waited() -> tuple[str, object]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            ended = await fairlead.wait(connection, lease.job, timeout=15)
            channels = await connection.execute("SELECT pg_listening_channels()")
            return ended.state, await channels.fetchall()

    with ThreadPoolExecutor() as threads:
        waits = threads.submit(asyncio.run, waited())
        assert rests.wait(10)
        finished(db, lease)

        assert ("succeeded", []) == waits.result()


def test_nothing_is_left_of_a_wait(
    database_url: str, db: Connection[TupleRow], rests: threading.Event
) -> None:
    """It listens no more, and what others were told is not kept for it."""
    lease = running(db)
    with psycopg.connect(database_url) as mine, ThreadPoolExecutor() as threads:
        waits = threads.submit(fairlead.wait, mine, lease.job, timeout=15)
        assert rests.wait(10)
        db.execute("SELECT pg_notify('fairlead_ended', '999')")
        finished(db, lease)
        waits.result()

        assert None is mine.execute("SELECT pg_listening_channels()").fetchone()
        assert [] == [*mine.notifies(timeout=0)]


def test_what_the_caller_listens_to_stays_the_callers(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Such a connection looks again and again."""
    lease = running(db)
    with psycopg.connect(database_url, autocommit=True) as mine:
        mine.execute("LISTEN mine")
        db.execute("SELECT pg_notify('mine', 'for me')")
        with ThreadPoolExecutor() as threads:
            waits = threads.submit(fairlead.wait, mine, lease.job, timeout=15)
            until(lambda: db.execute(_WAITS).fetchone(), what="somebody waits")
            finished(db, lease)
            assert "succeeded" == waits.result().state

        assert ["for me"] == [each.payload for each in mine.notifies(timeout=5, stop_after=1)]


def test_endings_notify_those_that_are_waited_for_alone(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """Of those that end in one statement as well; nobody is told of what nobody waits for."""
    listener = log_in()
    listener.execute("LISTEN fairlead_ended")
    before, one, two = running(db), running(db), running(db)

    finished(db, before)
    assert None is db.execute(_SOMEBODY_WAITS).fetchone()
    assert [] == notified(listener, db, "fairlead_ended")

    db.execute(_AWAIT, [two.job])
    race.finish(db, [one, two])
    assert [str(two.job)] == notified(listener, db, "fairlead_ended")


def test_a_wait_that_was_left_is_over_by_itself(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """After its 20 seconds an ending notifies nobody, and the next wait removes its row."""
    listener = log_in()
    listener.execute("LISTEN fairlead_ended")
    left, other = running(db), running(db)
    db.execute(_AWAIT, [left.job])
    db.execute(_AWAIT, [left.job])
    assert [(left.job,)] == db.execute(_WAITS).fetchall()

    db.execute("UPDATE fairlead.waits SET until = now()")
    finished(db, left)
    db.execute(_AWAIT, [other.job])

    assert [] == notified(listener, db, "fairlead_ended")
    assert [(other.job,)] == db.execute(_WAITS).fetchall()


def test_nobody_waits_for_a_wait_of_somebody_else(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Whose transaction is open: neither another one, nor the worker that ends the job."""
    lease = running(db)
    db.execute("SET lock_timeout = '100ms'")
    with psycopg.connect(database_url) as holder:
        holder.execute(_AWAIT, [lease.job])
        db.execute(_AWAIT, [lease.job])
        db.execute("UPDATE fairlead.waits SET until = now()")

        db.execute(_AWAIT, [lease.job])
        assert (lease.job,) == race.finish(db, [lease], lock_timeout="100ms")


def test_another_logins_job_is_not_awaited(db: Connection[TupleRow], log_in: LogIn) -> None:
    """As it is not seen."""
    lease = running(db)

    log_in("fairlead_enqueue").execute(_AWAIT, [lease.job])
    assert [] == db.execute(_WAITS).fetchall()
    log_in("fairlead_viewer").execute(_AWAIT, [lease.job])
    assert [(lease.job,)] == db.execute(_WAITS).fetchall()


def test_a_session_that_may_not_write_waits_too(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It looks again and again, as on a standby."""
    lease = running(db)
    with psycopg.connect(database_url, autocommit=True) as mine:
        mine.execute("SET default_transaction_read_only = on")
        with ThreadPoolExecutor() as threads:
            waits = threads.submit(fairlead.wait, mine, lease.job, timeout=15)
            finished(db, lease)

            assert "succeeded" == waits.result().state


def test_a_word_that_is_not_true_ends_no_wait(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Any login may send it, as often as it likes: the wait goes on by looking."""
    lease = running(db)
    with (
        psycopg.connect(database_url, autocommit=True) as mine,
        ThreadPoolExecutor() as threads,
    ):
        waits = threads.submit(fairlead.wait, mine, lease.job, timeout=15)
        until(lambda: db.execute(_WAITS).fetchone(), what="somebody waits")
        for _ in range(20):
            db.execute("SELECT pg_notify('fairlead_ended', %s)", [str(lease.job)])
        assert not waits.done()
        finished(db, lease)

        assert "succeeded" == waits.result().state
