"""An ending wakes the leader while a limit blocks a lane, and nothing else does."""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic

import pytest

from fairlead import policy_storage
from fairlead.db.statements import load
from fairlead_scheduler.loop.loop import Loop
from fairlead_scheduler.loop.store import LoopStore
from tests.conftest import Connect
from tests.support.race import Database, Lease, answer, claim, end, finish, register, run_one
from tests.support.schedulers import led, scheduling
from tests.support.waiting import notified, until

ONE = "queues: [{match: {queue: default}, slots: {limit: 1}}]"
ROUNDS = 20
_ASKED = "SELECT pg_sequence_last_value('fairlead.endings_notify') IS NOT NULL"

Ends = Callable[[Database, Lease], object]
ENDS: dict[str, Ends] = {
    "finish": lambda db, lease: finish(db, [lease]),
    "complete": lambda db, lease: answer(db, "complete(%s, %s)", lease.job, lease.token),
    "fail": lambda db, lease: end(db, lease, "failed"),
}


@pytest.fixture
def listener(connect: Connect) -> Database:
    """Return a session that gets the notifications for the leader."""
    session = connect()
    session.execute("LISTEN fairlead_scheduler")
    return session


def ask_for_endings(db: Database, *, wanted: bool = True) -> None:
    """Ask endings to notify, as a leader does, or not to any more."""
    epoch = db.execute("SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'").fetchone()
    assert epoch is not None
    db.execute(
        load("fairlead_scheduler.loop", "notify_endings"), {"epoch": epoch[0], "wanted": wanted}
    )


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
    db: Database, listener: Database, ends: Ends
) -> None:
    """Whether a worker writes it, or a handler in its own transaction."""
    ask_for_endings(db)
    lease = run_one(db)
    notified(listener, db, "fairlead_scheduler")

    ends(db, lease)

    assert ["ended"] == notified(listener, db, "fairlead_scheduler")


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_an_ending_does_not_notify_a_leader_that_does_not_ask(
    db: Database, listener: Database, ends: Ends
) -> None:
    """A notifying transaction holds an instance-wide lock: under load no ending notifies."""
    ask_for_endings(db)
    ask_for_endings(db, wanted=False)
    lease = run_one(db)
    notified(listener, db, "fairlead_scheduler")

    ends(db, lease)

    assert [] == notified(listener, db, "fairlead_scheduler")


def test_a_claim_does_not_notify(db: Database, listener: Database) -> None:
    """It leaves a receipt as well, but it frees nothing."""
    ask_for_endings(db)
    run_one(db)

    assert "ended" not in notified(listener, db, "fairlead_scheduler")


def test_an_ending_that_is_not_committed_does_not_notify(
    db: Database, connect: Connect, listener: Database
) -> None:
    """The leader would look in vain: it hears of it with the commit."""
    ask_for_endings(db)
    lease = run_one(db)
    handler = connect(autocommit=False)
    notified(listener, db, "fairlead_scheduler")
    answer(handler, "complete(%s, %s)", lease.job, lease.token)

    before = notified(listener, db, "fairlead_scheduler")
    handler.commit()

    assert ([], ["ended"]) == (before, notified(listener, db, "fairlead_scheduler"))


def test_the_next_job_of_a_limit_does_not_wait_for_a_tick(
    database_url: str, db: Database
) -> None:
    """With a tick of a second, twenty jobs one after the other would take ten at least."""
    policy_storage.store(db, ONE)
    worker = register(db)
    insert(db, ROUNDS + 2)
    with scheduling(database_url, tick_seconds=1.0, idle_seconds=5.0):
        finish(db, [next_one(db, worker)])
        until(lambda: db.execute(_ASKED).fetchone() == (True,), what="the leader asking")
        began = monotonic()
        for _ in range(ROUNDS):
            finish(db, [next_one(db, worker)])
        took_seconds = monotonic() - began

    assert took_seconds < 5


def test_an_ending_between_a_look_and_the_asking_is_seen_at_once(
    database_url: str, db: Database, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No notification announced it, so the step that asks does not rest."""
    worker, ender = register(db), connect()
    asks, steps, rests = LoopStore.notify_endings, Loop.step, list[timedelta]()
    asking: list[bool] = []

    def late(store: LoopStore, *, wanted: bool) -> None:
        if not asking:
            finish(ender, claim(ender, worker))
        asks(store, wanted=wanted)
        asking.append(wanted)

    def step(loop: Loop) -> timedelta:
        asked = len(asking)
        rest = steps(loop)
        if asking[asked:] == [True]:
            rests.append(rest)
        return rest

    monkeypatch.setattr(LoopStore, "notify_endings", late)
    monkeypatch.setattr(Loop, "step", step)
    policy_storage.store(db, ONE)
    insert(db, 2)
    with scheduling(database_url):
        led(db)
        next_one(db, worker)

    assert [timedelta(0)] == rests


def test_an_ending_that_began_before_the_asking_is_found_by_polling(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Its transaction saw that no leader asked, and commits after the leader's last read."""
    policy_storage.store(db, ONE)
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


def test_endings_stop_notifying_once_no_lane_waits_for_them(
    database_url: str, db: Database
) -> None:
    """The leader calls it off, and so does the end of its term."""
    policy_storage.store(db, ONE)
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
    policy_storage.store(db, ONE)
    worker = register(db)
    insert(db, 5)
    asked: list[object] = []
    with scheduling(database_url, database_direct=False):
        for _ in range(5):
            lease = next_one(db, worker)
            asked.append(db.execute(_ASKED).fetchone())
            finish(db, [lease])

    assert [(False,)] * 5 == asked
