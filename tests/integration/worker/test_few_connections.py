"""A worker that cannot have all of its connections claims nothing, and keeps none of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeAlias

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier, Literal

from fairlead_worker.ipc import messages
from fairlead_worker.parent.lease_thread import LeaseHeld
from tests.integration.worker.test_parent_lease import Worker, config_for, working
from tests.support.children import RunningChild, ending, register
from tests.support.dispatching import insert
from tests.support.logins import as_login, login
from tests.support.waiting import until

Allow: TypeAlias = Callable[[int], None]
Begin: TypeAlias = Callable[[int], RunningChild]
_ENDINGS = "fairlead worker endings"


@pytest.fixture
def name(database_url: str) -> Iterator[str]:
    """Yield the name of a worker's login."""
    with login(database_url, "fairlead_worker") as made:
        yield made


@pytest.fixture
def allow(db: Connection[TupleRow], name: str) -> Allow:
    """Return a function that says how many connections the login may open from now on."""

    def allow(connections: int) -> None:
        limit = SQL("ALTER ROLE {} CONNECTION LIMIT {}")
        db.execute(limit.format(Identifier(name), Literal(connections)))

    return allow


@pytest.fixture
def worker(database_url: str, db: Connection[TupleRow], name: str) -> int:
    """Register a worker of the login, which has no connection afterwards."""
    with psycopg.connect(as_login(database_url, name), autocommit=True) as session:
        worker_id = register(session, releases_slots=True)
    until(lambda: sessions(db, name) == [], what="the end of the registering session")
    return worker_id


@pytest.fixture
def begin(database_url: str, name: str, worker: int, allow: Allow) -> Iterator[Begin]:
    """Yield a function that starts a child which may open so many connections."""
    with ExitStack() as started:

        def begin(connections: int) -> RunningChild:
            allow(connections)
            running = RunningChild(as_login(database_url, name))
            started.callback(running.end)
            running.send(messages.StartClaiming(worker))
            return running

        yield begin


def sessions(db: Connection[TupleRow], name: str) -> list[str]:
    """Return the names of a login's sessions."""
    rows = db.execute(
        "SELECT application_name FROM pg_stat_activity WHERE usename = %s", [name]
    ).fetchall()
    return [str(row[0]) for row in rows]


def is_refused(running: RunningChild) -> None:
    """Wait until the child logs that it cannot open a connection."""
    until(
        lambda: [line for line in running.log if '"event": "database.waiting"' in line],
        what="a connection that is refused",
        seconds=60,
    )


def is_claimed(db: Connection[TupleRow], job_id: int) -> bool:
    """Return whether a job is leased, or has ended."""
    return db.execute(
        "SELECT true FROM fairlead.work_queue WHERE job_id = %s AND worker IS NULL", [job_id]
    ).fetchone() != (True,)


def test_nothing_is_claimed_before_endings_can_be_stored(
    begin: Begin, db: Connection[TupleRow], allow: Allow
) -> None:
    """At the start: what was claimed would end, and stand as running under a renewed lease."""
    job_id = insert(db, "echo", "done")
    claiming = begin(1)
    is_refused(claiming)

    assert not is_claimed(db, job_id)
    assert not [each for each in claiming.received if isinstance(each, messages.Ready)]

    allow(2)

    claiming.receives(messages.Ready)
    assert ("succeeded", "done", None) == ending(db, job_id)


def test_nothing_is_claimed_after_the_endings_connection_is_lost(
    begin: Begin, db: Connection[TupleRow], allow: Allow, name: str
) -> None:
    """A connection that is lost at rest is missed before the next claim, not after it."""
    claiming = begin(2)
    claiming.receives(messages.Idle, seconds=60)
    allow(1)
    db.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE usename = %s AND application_name = %s",
        [name, _ENDINGS],
    )
    job_id = insert(db, "echo", "done")
    is_refused(claiming)

    assert not is_claimed(db, job_id)

    allow(2)

    assert ("succeeded", "done", None) == ending(db, job_id)


def test_a_child_that_can_have_one_connection_holds_none(
    begin: Begin, db: Connection[TupleRow], allow: Allow, name: str
) -> None:
    """Another worker may lack just that one."""
    claiming = begin(1)
    is_refused(claiming)

    until(lambda: sessions(db, name) == [], what="none being held")
    allow(2)

    claiming.receives(messages.Ready)
    assert [_ENDINGS, "fairlead worker claims"] == sorted(sessions(db, name), reverse=True)


def test_a_parent_whose_children_have_none_keeps_its_own_for_renewals_only(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """What they hold stays leased, and others can connect in between."""
    pids = "SELECT pid FROM pg_stat_activity WHERE application_name = 'fairlead worker w'"
    config = replace(
        config_for(database_url), worker_lease_seconds=12.0, worker_renew_seconds=3.9
    )
    with working(Worker(config)) as worker:
        worker_id = worker.register()
        (first,) = db.execute(pids).fetchall()
        renewals = worker.lease.renewals
        worker.lease.is_alone = True

        worker.see(lambda: db.execute(pids).fetchall() == [], "its being given back")
        before = renewals["renewed"]
        worker.see(lambda: renewals["renewed"] > before, "a renewal")
        worker.lease.is_alone = False
        (second,) = until(lambda: db.execute(pids).fetchall(), what="a connection")

        assert first != second
        status = worker.lease.status
        assert isinstance(status, LeaseHeld)
        assert worker_id == status.worker_id
