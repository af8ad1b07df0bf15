"""A full queue of notifications, which any login of the server can fill, stops nothing."""

from collections.abc import Iterator
from functools import partial

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support import race, tree
from tests.support.databases import (
    FAST,
    cloned_database,
    fast_folder,
    make_template,
    running_server,
)
from tests.support.logged import Lines
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

# A server's queue has a size only from PostgreSQL 17 on; 8 GB take minutes to fill.
pytestmark = pytest.mark.any_server

_SWITCHES = ("inserts_notify", "endings_notify")
_SENT = "SELECT pg_notify('crowd', rpad(%s::text, 7900, 'y'))"
_LEFT_OUT = "fairlead_wakes_left_out_total"


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """Yield a server whose queue holds 64 notifications of the largest size."""
    settings = FAST | {"max_notify_queue_pages": "64"}
    with running_server(settings, within=fast_folder()) as running:
        make_template(running)
        yield running


@pytest.fixture
def url(small: Server) -> Iterator[str]:
    """Yield the URL of a database of its own."""
    with cloned_database(small) as made:
        yield made


@pytest.fixture
def db(url: str) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to it, in which whatever may notify does."""
    with psycopg.connect(url, autocommit=True) as connection:
        for switch in _SWITCHES:
            connection.execute("SELECT setval(%s, 1)", [f"fairlead.{switch}"])
        yield connection


@pytest.fixture
def full(small: Server, db: Connection[TupleRow]) -> Iterator[Connection[TupleRow]]:
    """Yield the session, of another database, in whose transaction the queue is full."""
    with psycopg.connect(small.url_of("postgres"), autocommit=True) as listener:
        listener.execute("LISTEN crowd")
        listener.execute("BEGIN")
        listener.execute("SELECT 1")
        # What an earlier test left may look full, though nobody has to read it any more.
        until(lambda: not sends(db) and is_used(db), what="a full queue")
        yield listener


def is_used(db: Connection[TupleRow]) -> bool:
    """Return whether half of the queue is still to be read by somebody."""
    return db.execute("SELECT pg_notification_queue_usage() > 0.5").fetchone() == (True,)


def queued(db: Connection[TupleRow], jobs: int) -> bool:
    """Return whether so many jobs are in the queue."""
    return db.execute("SELECT count(*) FROM fairlead.work_queue").fetchone() == (jobs,)


def sends(db: Connection[TupleRow]) -> bool:
    """Send a notification of the largest size; return whether the queue had room for it."""
    try:
        db.execute(_SENT, [1])
    except errors.ProgramLimitExceeded:
        return False
    return True


def test_nothing_notifies_but_where_the_queue_has_room(db: Connection[TupleRow]) -> None:
    """Neither a function nor a statement of the services."""
    functions = "SELECT proname FROM pg_proc WHERE prosrc LIKE '%%pg\\_notify(%%' AND"
    schema = "pronamespace = 'fairlead'::regnamespace"
    statements = (path for path in tree.of_rooms(".sql") if path.parent.name == "sql")

    assert [] == db.execute(f"{functions} {schema}".replace("%%", "%").encode()).fetchall()
    assert [] == [str(path) for path in statements if "pg_notify(" in tree.text(path)]


@pytest.mark.usefixtures("full")
def test_a_jobs_life_goes_on(db: Connection[TupleRow]) -> None:
    """From its INSERT on, whether it ends well, goes back, is cancelled or runs again."""
    worker = race.register(db)
    jobs = [race.insert_one(db) for _ in range(4)]
    race.dispatch(db, jobs, epoch=race.lead(db))
    done, back, stopped, failed = race.claim(db, worker)

    assert (done.job,) == race.finish(db, [done])
    assert "queued" == race.hand_back(db, back, "returned")
    assert "requested" == race.cancel(db, stopped.job)
    db.execute("UPDATE fairlead.jobs SET max_attempts = 1 WHERE id = %s", [failed.job])
    assert "failed" == race.end(db, failed, "failed")
    assert (1, 0) == db.execute("SELECT * FROM fairlead.cancel_jobs(kind => 'noop')").fetchone()
    assert race.answer(db, "retry(%s)", failed.job) is not None


@pytest.mark.parametrize(
    "call",
    [
        "pause('default')",
        "resume('default')",
        "apply_policy('{}', '0123456789ab', 'ann', '')",
        "explain((SELECT max(id) FROM fairlead.jobs))",
        "undrain_worker((SELECT max(id) FROM fairlead.worker_leases))",
        "_take_over('another')",
        "_release_leadership((SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'))",
    ],
)
@pytest.mark.usefixtures("full")
def test_what_is_done_by_hand_is_done(db: Connection[TupleRow], call: str) -> None:
    """Whoever waits to hear of it looks by itself."""
    race.insert_one(db)
    worker = race.register(db)
    db.execute("UPDATE fairlead.worker_leases SET draining = true WHERE id = %s", [worker])

    db.execute(f"SELECT fairlead.{call}".encode())


def test_a_leader_leads_on_without_waking_anybody(
    url: str, db: Connection[TupleRow], full: Connection[TupleRow], logged: Lines
) -> None:
    """It says so, counts it, and wakes workers again once there is room."""
    race.register(db)
    with scheduling(url) as replica:
        epoch = led(db)
        count = replica.metrics.registry.get_sample_value
        for wanted in (1, 2):
            race.insert_one(db)
            until(partial(queued, db, wanted), what="a dispatch")
        until(lambda: (count(_LEFT_OUT) or 0) > 0, what="a wake-up that is left out")
        assert epoch == led(db)

        full.execute("ROLLBACK")
        db.execute("LISTEN fairlead_work")
        race.insert_one(db)
        assert next(db.notifies(timeout=10, stop_after=1)).channel == "fairlead_work"

    assert 1 == len([line for line in logged() if line["event"] == "notifications.full"])
