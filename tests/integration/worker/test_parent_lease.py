"""The lease is renewed, lost and taken anew on a real server, whatever happens to it."""

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from time import monotonic

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.runtime.wakeup import Wakeup
from fairlead_cli.dev import process_table
from fairlead_cli.dev.postgres import Server
from fairlead_worker.config import WorkerConfig
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.lease_thread import (
    DatabaseUnusable,
    LeaseHeld,
    LeaseThread,
    MarkedDead,
)
from fairlead_worker.parent.registration import Registration
from fairlead_worker.parent.worker_store import HandBackResult, Kinds
from fairlead_worker.settings import WorkerSettings
from tests.conftest import Connect
from tests.support.waiting import until


def config_for(url: str) -> WorkerConfig:
    """Return settings with a lease short enough to be watched."""
    return WorkerSettings(
        app="shop.jobs:tasks",
        database_url=url,
        worker_lease_seconds=3.0,
        worker_renew_seconds=0.5,
        worker_margin_seconds=0.5,
        worker_call_seconds=1.0,
        network_timeout_seconds=2,
    ).config()


class Worker:
    """The lease's half of a parent, without children.

    Args:
        config: the settings.
        running: what it reports as running.
        name: the worker's name.
    """

    def __init__(
        self, config: WorkerConfig, running: tuple[tuple[int, int], ...] = (), name: str = "w"
    ) -> None:
        self.news = Wakeup()
        self.lease = LeaseThread(config, name=name, running=lambda: running, changed=self.news)
        self.lease.set_slots(config.concurrency * config.processes)
        self.noted: list[HandBackResult] = []
        self.list = Registration(config, name, self.lease, self.noted.extend)

    def turn(self) -> None:
        """Do what the parent's loop does with answers and with calls that hang."""
        self.lease.abort_stuck_call(monotonic())
        while self.lease.replies:
            self.lease.replies.popleft()()

    def see(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition while turning."""

        def turned() -> object:
            self.turn()
            return condition()

        until(turned, what=what)

    def register(self) -> int:
        """Get a row and wait for it."""
        self.list.register(Kinds({}))
        self.see(lambda: self.list.worker_id is not None, "a registration")
        assert self.list.worker_id is not None
        return self.list.worker_id


@contextmanager
def working(worker: Worker) -> Generator[Worker]:
    """Run the lease's thread meanwhile."""
    worker.lease.start()
    try:
        yield worker
    finally:
        worker.lease.stop()
        worker.news.close()


def lease_until(db: Connection[TupleRow], worker_id: int) -> datetime:
    """Return when a worker's lease ends."""
    row = db.execute(
        "SELECT lease_until FROM fairlead.worker_leases WHERE id = %s", [worker_id]
    ).fetchone()
    assert row is not None
    value = row[0]
    assert isinstance(value, datetime)
    return value


def leased_job(db: Connection[TupleRow], worker_id: int) -> tuple[int, int]:
    """Insert a job, dispatch it by hand and lease it to a worker; return its id and token."""
    row = db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k') RETURNING id").fetchone()
    assert row is not None
    claimed = db.execute(
        "INSERT INTO fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at,"
        " timeout, band, pool, queue, tenant, worker, token, claimed_at, deadline)"
        " VALUES (%s, 0, 1, 0, now(), '1 min', 0, 'default', 'default', '', %s,"
        " nextval('fairlead.tokens'), now(), now() + interval '1 min') RETURNING token",
        [row[0], worker_id],
    ).fetchone()
    assert claimed is not None
    return row[0], claimed[0]


def queued(db: Connection[TupleRow], job_id: int) -> TupleRow | None:
    """Return which worker holds a queued job, and how often it was lost."""
    return db.execute(
        "SELECT q.worker, j.losses, j.attempts FROM fairlead.work_queue q"
        " JOIN fairlead.jobs j ON j.id = q.job_id WHERE q.job_id = %s",
        [job_id],
    ).fetchone()


def test_a_worker_registers_with_its_slots_and_renews_its_lease(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """One row per parent; its slots are processes times concurrency."""
    config = replace(config_for(database_url), processes=3, concurrency=5)
    with working(Worker(config)) as worker:
        worker_id = worker.register()
        first = lease_until(db, worker_id)

        worker.see(lambda: lease_until(db, worker_id) > first, "a renewal")

    row = db.execute("SELECT name, pool, slots, state FROM fairlead.workers").fetchone()
    assert ("w", "default", 15, "live") == row


def test_the_kinds_that_run_alone_and_those_that_may_make_room_are_in_the_row(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """In a new row as well, after the old one was marked dead; a hundred and a thousand."""
    counts = "jsonb_array_length(crash_breakers), cardinality(evictable_kinds)"
    asked = f"SELECT {counts} FROM fairlead.worker_leases ORDER BY -id".encode()
    many = frozenset(("resize", str(number)) for number in range(101))
    with working(Worker(config_for(database_url))) as worker:
        first = worker.register()
        worker.lease.set_crash_breakers(many)
        worker.lease.set_evictable_kinds(frozenset(map(str, range(1001))))
        worker.see(lambda: db.execute(asked).fetchone() == (100, 1000), "most of them")
        db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [first])
        worker.see(lambda: worker.lease.status == MarkedDead(first), "the news of its death")
        worker.list.lease_lost()
        worker.register()
        worker.see(lambda: db.execute(asked).fetchone() == (100, 1000), "them again")
        worker.lease.set_crash_breakers(frozenset())
        worker.see(lambda: db.execute(asked).fetchone() == (None, 1000), "none")


def test_a_registration_wakes_the_scheduler(database_url: str, connect: Connect) -> None:
    """New slots are filled without waiting for a poll."""
    inbox = connect()
    inbox.execute("LISTEN fairlead_scheduler")
    with working(Worker(config_for(database_url))) as worker:
        worker.register()

        heard = [notice.channel for notice in inbox.notifies(timeout=10, stop_after=1)]

    assert ["fairlead_scheduler"] == heard


def test_trust_ends_before_the_lease_does(database_url: str) -> None:
    """trusted_until is the attempt's start plus the lease less its margin."""
    config = config_for(database_url)
    with working(Worker(config)) as worker:
        began = monotonic()
        worker.register()
        registered = monotonic()
        status = worker.lease.status

    assert isinstance(status, LeaseHeld)
    assert began + 2.5 <= status.trusted_until <= registered + 2.5


def test_a_worker_that_was_marked_dead_learns_it_and_registers_under_a_new_id(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Renewal requires a live row; a dead worker comes back as another."""
    with working(Worker(config_for(database_url))) as worker:
        first = worker.register()
        db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [first])
        worker.see(lambda: worker.lease.status == MarkedDead(first), "the news of its death")

        worker.list.lease_lost()
        second = worker.register()

    assert first != second
    assert "live" == state_of(db, second)


def state_of(db: Connection[TupleRow], worker_id: int) -> str:
    """Return a worker's state."""
    row = db.execute("SELECT state FROM fairlead.workers WHERE id = %s", [worker_id]).fetchone()
    assert row is not None
    return str(row[0])


def test_a_cancellation_reaches_the_worker_that_runs_the_job_at_once(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """The parent is notified of a cancellation and renews, long before the renewal is due."""
    job_id, token = leased_job(db, 1)
    slow = replace(
        config_for(database_url), worker_lease_seconds=60.0, worker_renew_seconds=19.0
    )
    with working(Worker(slow, running=((job_id, token),))) as worker:
        worker.register()
        db.execute("SELECT fairlead.cancel(%s)", [job_id])

        worker.see(lambda: worker.lease.cancelled, "the request")

    assert frozenset({token}) == worker.lease.cancelled


def test_a_killed_backend_is_replaced_before_the_lease_ends(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """A terminated connection costs no lease and no handler."""
    with working(Worker(config_for(database_url))) as worker:
        worker_id = worker.register()
        first = lease_until(db, worker_id)
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'fairlead worker w' AND datname = current_database()"
        )

        worker.see(lambda: lease_until(db, worker_id) > first, "a renewal")
        status = worker.lease.status

    assert isinstance(status, LeaseHeld)
    assert worker_id == status.worker_id


def test_a_frozen_server_cannot_hold_the_lease_thread(own_server: Server) -> None:
    """A call that is not answered is cut off, and the lease is renewed by another one."""
    with working(Worker(config_for(own_server.url))) as worker:
        worker.register()
        backend = _backend(own_server.url)
        os.kill(backend, signal.SIGSTOP)
        try:
            worker.see(lambda: worker.lease.renewals["failed"] > 0, "a call being cut off")
        finally:
            os.kill(backend, signal.SIGCONT)
        before = worker.lease.renewals["renewed"]

        worker.see(lambda: worker.lease.renewals["renewed"] > before, "a renewal")
        status = worker.lease.status

    assert isinstance(status, LeaseHeld)


def _backend(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'fairlead worker w'"
        ).fetchone()
    assert row is not None
    assert process_table.is_alive(row[0])
    return int(row[0])


def test_a_restarted_worker_releases_its_dead_predecessors_jobs_at_once(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """A container restarted in its pod does not wait for the lease of its former self."""
    config = replace(config_for(database_url), worker_name="w", pod_uid="pod-1")
    with working(Worker(config)) as former:
        former_id = former.register()
    job_id, _ = leased_job(db, former_id)

    with working(Worker(config)) as worker:
        worker.register()

    reported = [(each.ending.job_id, each.ending.ended_as) for each in worker.noted]
    assert [(job_id, "lost")] == reported
    assert "dead" == state_of(db, former_id)
    assert (None, 1, 0) == queued(db, job_id)


@pytest.mark.parametrize(
    "other",
    [("", None), ("w", "pod-2")],
    ids=["a name by chance", "another pod"],
)
def test_a_name_that_others_may_have_is_not_taken_over(
    database_url: str, db: Connection[TupleRow], other: tuple[str, str | None]
) -> None:
    """Only a name that was given, in the same pod, means that its former worker is dead."""
    name, pod_uid = other
    config = config_for(database_url)
    with working(Worker(replace(config, worker_name="w", pod_uid="pod-1"))) as former:
        former_id = former.register()

        with working(Worker(replace(config, worker_name=name, pod_uid=pod_uid))) as worker:
            worker.register()

        assert "live" == state_of(db, former_id)


def test_leaving_marks_the_row_dead_and_returns_what_it_held(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Nothing waits for the lease of a worker that has stopped, and no job is punished."""
    with working(Worker(config_for(database_url))) as worker:
        worker_id = worker.register()
        job_id, _ = leased_job(db, worker_id)

        worker.list.deregister(begun=frozenset())
        worker.see(lambda: worker.list.deregistered, "leaving")

    assert "dead" == state_of(db, worker_id)
    assert (None, 0, 0) == queued(db, job_id)


def test_a_schema_that_is_too_new_ends_the_worker(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """An incompatible schema ends a service; an old or missing one is waited for."""
    db.execute(
        "INSERT INTO fairlead.schema_versions (version, name, compatible_from)"
        " VALUES (9000, 'future', 9000)"
    )
    with working(Worker(config_for(database_url))) as worker:
        worker.see(lambda: isinstance(worker.lease.status, DatabaseUnusable), "the refusal")
        status = worker.lease.status

    assert isinstance(status, DatabaseUnusable)
    assert "upgrade Fairlead" in status.sentence


def test_a_worker_waits_for_a_schema_that_is_not_there_yet(own_server: Server) -> None:
    """A worker that starts before the migration waits for it."""
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute("ALTER SCHEMA fairlead RENAME TO later")
        with working(Worker(config_for(own_server.url))) as worker:
            worker.list.register(Kinds({}))
            worker.see(lambda: _waits(connection), "an attempt")
            connection.execute("ALTER SCHEMA later RENAME TO fairlead")

            worker.register()


def _waits(connection: Connection[TupleRow]) -> bool:
    rows = connection.execute(
        "SELECT 1 FROM pg_stat_database WHERE xact_rollback > 0"
    ).fetchall()
    return bool(rows)


@pytest.mark.parametrize("ended_as", ["snoozed", "failed"])
def test_unfinished_counts_what_comes_again_and_not_what_is_scheduled_for_later(
    database_url: str, db: Connection[TupleRow], ended_as: str
) -> None:
    """Done is: nothing pending, queued or running, and nothing that ran is to run again."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, run_at) VALUES ('later', now() + interval '1 h')"
    )
    scheduled = unfinished(database_url)
    job_id, token = leased_job(db, 1)
    running = unfinished(database_url)
    db.execute(
        "SELECT fairlead._end_attempts(array[%s]::bigint[], array[%s]::bigint[], array[%s],"
        " array[null::text], array['1 h'::interval])",
        [job_id, token, ended_as],
    )
    comes_again = unfinished(database_url)

    assert (False, True, True) == (scheduled, running, comes_again)


def unfinished(database_url: str) -> bool:
    """Return whether anything is unfinished, as a worker that runs until empty asks."""
    answers: list[bool] = []
    with working(Worker(config_for(database_url))) as worker:
        worker.lease.submit(
            lambda session: partial(answers.append, worker_store.unfinished(session))
        )
        worker.see(lambda: answers, "an answer")
    return answers.pop()
