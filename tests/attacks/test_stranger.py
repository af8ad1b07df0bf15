"""What a login without any role can do: CONNECT, and what PostgreSQL gives to everybody.

Notifications and advisory locks are free to all. A flood of notifications makes no service
busy, and no advisory lock means anything.
"""

import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, thread_time

import pytest
from prometheus_client import Metric
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead.db.notifications import PER_SECOND, Notifications
from fairlead.runtime.wakeup import Wakeup
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.database import Database
from tests.attacks.test_scheduler import allowed
from tests.chaos import fleet as programs
from tests.chaos.fleet import Fleet
from tests.conftest import Connect
from tests.support import tree
from tests.support.attacks import ROLES
from tests.support.children import child, register
from tests.support.logins import LogIn
from tests.support.race import finish, insert_one, run_one
from tests.support.schedulers import led, scheduling
from tests.support.waiting import notified, until

# The first and last once said that a leader wants to be notified.
LOCKS = (7165163640219131510, 7165163640219131511, 7165163640219131512)
_ADVISORY = "pg_(try_)?advisory"
_LOOKING = ("fairlead_viewer", "fairlead_operator", "fairlead_admin")
SWITCHES = {"inserted": "inserts_notify", "ended": "endings_notify"}
"""What says that the leader wants a notification, by the payload."""
SWITCHING = (
    "SELECT setval('fairlead.{}', 1)",
    "SELECT setval('fairlead.{}', 1, false)",
    "SELECT nextval('fairlead.{}')",
    "SELECT * FROM fairlead.{}",
    "ALTER SEQUENCE fairlead.{} RESTART",
)
PAYLOADS = ("", "policy", "question", "ended", "no such thing", "é" * 2000, "1,2,3", "1")
# Of a transaction's notifications those that differ are delivered.
TEXTS = [*PAYLOADS, *(str(number) for number in range(2, 100))]
BATCH = len(TEXTS)
RENEWALS = "sum(n_tup_upd) FILTER (WHERE relname = 'worker_leases')"
LOOKS_MAX = 200
"""What a child does of itself during a flood, and 50 at once for notifications."""
FLOOD = 30_000
"""Notifications, which take a second or more to send."""
REFUSED = (
    "SELECT FROM fairlead.jobs",
    "SELECT fairlead._leads(1)",
    "LOCK TABLE fairlead.schema_versions IN ACCESS SHARE MODE",
    "CREATE TABLE fairlead.mine ()",
)


@contextmanager
def flooding(stranger: Connection[TupleRow], channel: str) -> Generator[Callable[[], int]]:
    """Notify a channel as fast as the server takes it; yield what tells how often so far."""
    ended, sent = threading.Event(), 0

    def flood() -> None:
        nonlocal sent
        while not ended.is_set():
            stranger.execute(
                "SELECT pg_notify(%s, t) FROM unnest(%s::text[]) t", [channel, TEXTS]
            )
            sent += BATCH

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield lambda: sent
    finally:
        ended.set()
        thread.join()


def test_a_stranger_has_no_right_in_the_schema(log_in: LogIn) -> None:
    """Not even to see its tables."""
    assert [] == allowed(log_in(), REFUSED)


def test_a_strangers_advisory_locks_hold_up_nothing(
    log_in: LogIn, db: Connection[TupleRow], database_url: str
) -> None:
    """Neither a migration, nor the making of partitions, nor a leader, nor an INSERT."""
    stranger = log_in()
    for lock in LOCKS:
        stranger.execute("SELECT pg_advisory_lock(%s)", [lock])
    db.execute("SET lock_timeout = '2s'")
    db.execute("SET statement_timeout = '20s'")

    assert () == migrate(db)
    ((made,),) = db.execute("SELECT fairlead.make_history_partitions(15)").fetchall()
    assert made >= len(("succeeded", "unsuccessful"))
    with scheduling(database_url):
        led(db)
        job = insert_one(db)
        queued = "SELECT FROM fairlead.work_queue WHERE job_id = %s"
        until(lambda: db.execute(queued, [job]).fetchone() is not None, what="the dispatch")


def test_nothing_takes_or_asks_an_advisory_lock(db: Connection[TupleRow]) -> None:
    """No function and no program: any login of the database could hold it, whatever its key."""
    functions = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'fairlead'::regnamespace"
        " AND pg_get_functiondef(oid) ~ %s"
    )
    # What a migration once made, a later one has replaced.
    sources = [each for each in tree.of_rooms(".py", ".sql") if not each.name[:4].isdigit()]

    assert [] == db.execute(functions, [_ADVISORY]).fetchall()
    assert [] == [str(each) for each in sources if re.search(_ADVISORY, tree.text(each))]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_strangers_advisory_locks_switch_no_notification(
    log_in: LogIn, db: Connection[TupleRow], connect: Connect, *, wanted: bool
) -> None:
    """Held shared or not, INSERTs and endings notify if the leader wants it, else not."""
    listener, mine, lease = connect(), [log_in(), log_in()], run_one(db)
    listener.execute("LISTEN fairlead_scheduler")
    for switch in SWITCHES.values():
        db.execute("SELECT setval(%s, 1, %s)", [f"fairlead.{switch}", wanted])
    for lock in LOCKS:
        mine[0].execute("SELECT pg_advisory_lock(%s)", [lock])
    notified(listener, db, "fairlead_scheduler")

    insert_one(db)
    finish(db, [lease])
    held = notified(listener, db, "fairlead_scheduler")
    mine[0].execute("SELECT pg_advisory_unlock_all()")
    for session in mine:
        for lock in LOCKS:
            session.execute("SELECT pg_advisory_lock_shared(%s)", [lock])
    insert_one(db)

    assert (list(SWITCHES) if wanted else []) == held
    assert (["inserted"] if wanted else []) == notified(listener, db, "fairlead_scheduler")


@pytest.mark.parametrize(
    "role", [role for role in ROLES if role != "fairlead_scheduler"] + [None]
)
def test_who_is_no_scheduler_switches_no_notification(
    log_in: LogIn, db: Connection[TupleRow], role: str | None
) -> None:
    """Neither on nor off; operators and administrators may look."""
    session = log_in(*([role] if role else []))
    attempts = tuple(each.format(name) for each in SWITCHING for name in SWITCHES.values())
    looks = [each for each in attempts if "FROM fairlead" in each]

    assert (looks if role in _LOOKING else []) == allowed(session, attempts)
    for switch in SWITCHES.values():
        value = db.execute("SELECT pg_sequence_last_value(%s)", [f"fairlead.{switch}"])
        assert (None,) == value.fetchone()


@pytest.mark.parametrize("per_second", [5.0, PER_SECOND])
def test_a_flood_ends_only_so_many_waits(
    log_in: LogIn, connect: Connect, per_second: float
) -> None:
    """Whatever it says; and little processor time is spent on it."""
    listener, wakeup = connect(), Wakeup()
    notices = Notifications(listener, per_second=per_second)
    listener.execute("LISTEN news")
    waits, payloads = 0, set[str]()
    began, used = monotonic(), thread_time()
    with flooding(log_in(), "news") as sent:
        while sent() < FLOOD:
            payloads.update(notices.wait(wakeup, 10.0))
            waits += 1
        used = thread_time() - used
        took = monotonic() - began
    wakeup.close()

    assert waits <= per_second * (took + 1) + 10
    assert payloads.issuperset(PAYLOADS)
    assert used < FLOOD * 20e-6


def test_a_wake_up_ends_a_wait_during_a_flood(log_in: LogIn, connect: Connect) -> None:
    """A program that is asked to stop does so at once."""
    listener, wakeup = connect(), Wakeup()
    notices = Notifications(listener, per_second=0.1)
    listener.execute("LISTEN news")
    with flooding(log_in(), "news"):
        for _ in range(5):
            assert notices.wait(wakeup, 10.0)
        wakeup.wake()
        began = monotonic()

        notices.wait(wakeup, 10.0)

        assert monotonic() - began < 5.0
    wakeup.close()


def test_a_text_in_another_encoding_is_no_error(log_in: LogIn, connect: Connect) -> None:
    """A session's client encoding may be another than UTF-8."""
    listener, wakeup = connect(), Wakeup()
    listener.execute("SET client_encoding = 'LATIN1'")
    notices = Notifications(listener)
    listener.execute("LISTEN news")

    log_in().execute("NOTIFY news, 'é'")

    assert ["\ufffd"] == notices.wait(wakeup, 10.0)
    wakeup.close()


def test_a_flood_makes_no_leader_busy(
    log_in: LogIn, db: Connection[TupleRow], database_url: str
) -> None:
    """It ticks no more than while it has work, and dispatches at once."""
    with scheduling(database_url) as replica:
        led(db)
        with flooding(log_in(), "fairlead_scheduler") as sent:
            ticks, began = replica.metrics.ticks.collect(), monotonic()
            until(lambda: sent() > 3 * FLOOD, what="the flood", seconds=60)
            took = monotonic() - began
            ticked = total(replica.metrics.ticks.collect()) - total(ticks)
            job = insert_one(db)
            queued = "SELECT FROM fairlead.work_queue WHERE job_id = %s"
            until(lambda: db.execute(queued, [job]).fetchone() is not None, what="the dispatch")

    assert ticked < 1.2 * PER_SECOND * (took + 1) + 20


def total(metrics: Iterable[Metric]) -> float:
    """Return the value of a counter without labels."""
    return sum(
        each.value
        for metric in metrics
        for each in metric.samples
        if each.name.endswith("_total")
    )


def test_a_flood_makes_no_standby_busy(
    log_in: LogIn, db: Connection[TupleRow], database_url: str
) -> None:
    """It tries to acquire the lease twice a second, as without."""
    db.execute(
        "UPDATE fairlead.leaders SET lease_until = now() + interval '1 minute', holder = 'x'"
        " WHERE role = 'scheduler'"
    )
    db.execute(f"ALTER DATABASE {db.info.dbname} SET track_functions = 'all'".encode())
    tries = "SELECT calls FROM pg_stat_user_functions WHERE funcname = '_acquire_leadership'"
    began = monotonic()
    with scheduling(database_url):
        until(lambda: db.execute(tries).fetchone() not in (None, (0,)), what="its first try")
        with flooding(log_in(), "fairlead_leader") as sent:
            until(lambda: sent() > FLOOD, what="the flood", seconds=60)
    took = monotonic() - began
    tried = db.execute(tries).fetchone()

    assert tried is not None
    assert int(tried[0]) <= 2 * (took + 1) + 10


def test_a_flood_makes_no_idle_child_busy(
    log_in: LogIn, db: Connection[TupleRow], database_url: str, tmp_path: Path
) -> None:
    """It looks for jobs as often as the limit lets it, and not for each notification."""
    counted = tmp_path / "looks"

    def looks() -> int:
        return counted.stat().st_size if counted.exists() else 0

    with child(
        database_url,
        register(db),
        app="tests.support.standing_app:tasks",
        environment={"LOOKS": str(counted)},
    ):
        until(looks, what="a child that looks for jobs")
        with flooding(log_in(), "fairlead_work") as sent:
            until(
                lambda: sent() > 3 * FLOOD or looks() > LOOKS_MAX, what="the flood", seconds=60
            )

    assert looks() <= LOOKS_MAX


def test_a_flood_makes_no_idle_worker_busy(
    log_in: LogIn, db: Connection[TupleRow], fleet: Fleet
) -> None:
    """It renews its lease five times a second at most, even if the notifications are for it."""
    fleet.worker()
    with flooding(log_in(), "fairlead_cancel") as sent:
        renewals, took = flooded(db, sent, RENEWALS)

    assert renewals < 1.2 * 5 * (took + 2) + 10


def test_a_flood_makes_no_autoscaler_busy(log_in: LogIn, database_url: str) -> None:
    """Its rests end once a second at most, after five at once."""
    wakeup, waits = Wakeup(), 0
    database = Database(DatabaseSettings(database_url=database_url))
    database.connection()
    began = monotonic()
    with flooding(log_in(), "fairlead_autoscaler") as sent:
        while sent() < FLOOD:
            database.wait(wakeup, 10.0, at_zero=False)
            waits += 1
        took = monotonic() - began
    database.close()
    wakeup.close()

    assert waits <= took + 10


def flooded(
    db: Connection[TupleRow], sent: Callable[[], int], counter: str
) -> tuple[int, float]:
    """Let a flood go on; return how far a counter has grown meanwhile, and the seconds."""
    until(lambda: sent() > 0, what="the flood")
    began, before = monotonic(), count(db, counter)
    until(lambda: sent() > 2 * FLOOD, what="the flood", seconds=60)
    return count(db, counter) - before, monotonic() - began


def count(db: Connection[TupleRow], counter: str) -> int:
    """Return what sessions have reported of a table so far."""
    row = db.execute(f"SELECT {counter} FROM pg_stat_user_tables".encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet without a program."""
    environment = {"FAIRLEAD_POD_UID": PAYLOADS[-1]}
    with programs.fleet(database_url, tmp_path, environment) as made:
        yield made
