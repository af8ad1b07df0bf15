"""An ending wakes the leader while a limit holds somebody back, and nobody else does."""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic

import pytest

from fairlead import policy_store
from fairlead.sql import load
from fairlead_scheduler.loop import Loop
from fairlead_scheduler.store import Store
from tests.conftest import Connect
from tests.support.race import Database, Lease, answer, claim, end, finish, register, run_one
from tests.support.schedulers import led, scheduling
from tests.support.waiting import told, until

ONE = "queues: [{match: {queue: default}, slots: {limit: 1}}]"
ROUNDS = 20
_ASKED = """
    SELECT count(*) = 1 FROM pg_locks
    WHERE locktype = 'advisory' AND classid::bigint << 32 | objid::bigint = 7165163640219131512
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

Ends = Callable[[Database, Lease], object]
ENDS: dict[str, Ends] = {
    "finish": lambda db, lease: finish(db, [lease]),
    "complete": lambda db, lease: answer(db, "complete(%s, %s)", lease.job, lease.token),
    "fail": lambda db, lease: end(db, lease, "failed"),
}


@pytest.fixture
def listener(connect: Connect) -> Database:
    """Return a session that hears what the leader is told."""
    session = connect()
    session.execute("LISTEN fairlead_scheduler")
    return session


def heed(connect: Connect) -> Database:
    """Ask endings to notify, as a leader does; return the session that does."""
    session = connect()
    assert (True,) == session.execute(load("fairlead_scheduler", "heed_endings")).fetchone()
    return session


def insert(db: Database, count: int) -> None:
    """Insert jobs of one queue."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind) SELECT 'noop' FROM generate_series(1, %s)", [count]
    )


def next_one(db: Database, worker: int) -> Lease:
    """Claim the only job that the limit allows, as soon as it is there."""
    (lease,) = until(lambda: claim(db, worker), what="the next job of the queue", seconds=10)
    return lease


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_an_ending_notifies_a_leader_that_asks(
    db: Database, connect: Connect, listener: Database, ends: Ends
) -> None:
    """Whoever writes it: a worker, or a handler in its own transaction."""
    heed(connect)
    lease = run_one(db)
    told(listener, db, "fairlead_scheduler")

    ends(db, lease)

    assert ["ended"] == told(listener, db, "fairlead_scheduler")


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_an_ending_notifies_nobody_who_does_not_ask(
    db: Database, connect: Connect, listener: Database, ends: Ends
) -> None:
    """A notifying transaction holds an instance-wide lock: under load nobody notifies."""
    leader = heed(connect)
    leader.execute(load("fairlead_scheduler", "ignore_endings"))
    lease = run_one(db)
    told(listener, db, "fairlead_scheduler")

    ends(db, lease)

    assert [] == told(listener, db, "fairlead_scheduler")


def test_a_claim_notifies_nobody(db: Database, connect: Connect, listener: Database) -> None:
    """It leaves a receipt as well, but it frees nothing."""
    heed(connect)
    run_one(db)

    assert "ended" not in told(listener, db, "fairlead_scheduler")


def test_an_ending_that_is_not_committed_notifies_nobody(
    db: Database, connect: Connect, listener: Database
) -> None:
    """The leader would look in vain: it hears of it with the commit."""
    heed(connect)
    lease = run_one(db)
    handler = connect(autocommit=False)
    told(listener, db, "fairlead_scheduler")
    answer(handler, "complete(%s, %s)", lease.job, lease.token)

    before = told(listener, db, "fairlead_scheduler")
    handler.commit()

    assert ([], ["ended"]) == (before, told(listener, db, "fairlead_scheduler"))


@pytest.mark.parametrize("frozen", [False, True], ids=["alone", "beside a frozen leader"])
def test_the_next_job_of_a_limit_does_not_wait_for_a_tick(
    database_url: str, db: Database, connect: Connect, *, frozen: bool
) -> None:
    """With a tick of a second, twenty jobs one after the other would take ten at least.

    A leader that froze while it asked has its session still; endings notify all the same.
    """
    policy_store.store(db, ONE)
    worker = register(db)
    if frozen:
        heed(connect)
    insert(db, ROUNDS + 2)
    with scheduling(database_url, tick_seconds=1.0, idle_seconds=5.0):
        finish(db, [next_one(db, worker)])
        until(lambda: db.execute(_ASKED).fetchone() == (True,), what="the leader asking")
        began = monotonic()
        for _ in range(ROUNDS):
            finish(db, [next_one(db, worker)])
        took_seconds = monotonic() - began

    assert took_seconds < 5


def test_a_leader_that_asks_holds_up_no_partition(db: Database, connect: Connect) -> None:
    """Limits may hold for days, and a day without its partition is one without endings."""
    heed(connect)
    db.execute("SET lock_timeout = '2s'")

    made = db.execute("SELECT fairlead.make_history_partitions(15) >= 2").fetchone()

    assert (True,) == made


def test_a_leader_may_ask_while_partitions_are_made(db: Database, connect: Connect) -> None:
    """That is what a term begins with, and nobody else need have asked before."""
    sweep = connect(autocommit=False)
    sweep.execute("SELECT fairlead.make_history_partitions()")

    asks = db.execute(load("fairlead_scheduler", "heed_endings")).fetchone()

    assert (True,) == asks


def test_an_ending_between_a_look_and_the_asking_is_seen_at_once(
    database_url: str, db: Database, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody announced it, so the step that asks does not rest."""
    worker, ender = register(db), connect()
    asks, steps, rests = Store.heed_endings, Loop.step, list[timedelta]()
    asking: list[bool] = []

    def late(store: Store) -> bool:
        if not asking:
            finish(ender, claim(ender, worker))
        asking.append(asks(store))
        return asking[-1]

    def step(loop: Loop) -> timedelta:
        asked = len(asking)
        rest = steps(loop)
        if asking[asked:] == [True]:
            rests.append(rest)
        return rest

    monkeypatch.setattr(Store, "heed_endings", late)
    monkeypatch.setattr(Loop, "step", step)
    policy_store.store(db, ONE)
    insert(db, 2)
    with scheduling(database_url):
        led(db)
        next_one(db, worker)

    assert [timedelta(0)] == rests


def test_an_ending_that_began_before_the_asking_is_found_by_polling(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Its transaction saw that nobody asked, and is committed after the leader's last look."""
    policy_store.store(db, ONE)
    worker = register(db)
    insert(db, 2)
    handler = connect(autocommit=False)
    with scheduling(database_url):
        first = next_one(db, worker)
        until(lambda: db.execute(_ASKED).fetchone() == (True,), what="the leader asking")
        handler.execute("SET LOCAL session_replication_role = replica")  # as if it had not
        finish(handler, [first])
        assert () == claim(db, worker)
        handler.commit()

        assert first.job != next_one(db, worker).job


def test_endings_are_not_announced_any_more_once_nobody_waits_for_them(
    database_url: str, db: Database
) -> None:
    """The leader calls it off, and so does the end of its term."""
    policy_store.store(db, ONE)
    worker = register(db)
    insert(db, 2)
    with scheduling(database_url):
        first = next_one(db, worker)
        until(lambda: db.execute(_ASKED).fetchone() == (True,), what="the leader asking")
        finish(db, [first])
        finish(db, [next_one(db, worker)])
        until(lambda: db.execute(_ASKED).fetchone() == (False,), what="the end of the asking")
        insert(db, 2)
        until(lambda: db.execute(_ASKED).fetchone() == (True,), what="the leader asking again")

    until(lambda: db.execute(_ASKED).fetchone() == (False,), what="the end of its session")


def test_endings_are_not_announced_where_sessions_are_not_the_leaders_own(
    database_url: str, db: Database
) -> None:
    """Behind PgBouncer's transaction mode the lock would be anybody's: it polls."""
    policy_store.store(db, ONE)
    worker = register(db)
    insert(db, 5)
    asked: list[object] = []
    with scheduling(database_url, database_direct=False):
        for _ in range(5):
            lease = next_one(db, worker)
            asked.append(db.execute(_ASKED).fetchone())
            finish(db, [lease])

    assert [(False,)] * 5 == asked
