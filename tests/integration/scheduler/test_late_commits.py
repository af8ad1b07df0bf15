"""Jobs that are committed late are found, whatever stands before them in their lane."""

import pytest

from fairlead import policy_storage
from fairlead_scheduler.loop import loop
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish, insert_one, places
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_KEYED = """
version: keyed
queues:
  - match: {queue: default}
    concurrency: [{key: payload.account, limit: 1, scope: queue}]
"""
_JOBS = 1500
"""Half as many again as the holes that the leader watches."""
_FLOOD = 6000
"""More than the leader reads one by one."""
_ACCOUNT = """
    INSERT INTO fairlead.jobs (kind, payload) VALUES ('noop', '{"account": 1}') RETURNING id
"""
_INSERT = "INSERT INTO fairlead.jobs (kind) SELECT 'noop' FROM generate_series(1, %s)"
_STEP = "ALTER SEQUENCE fairlead.jobs_id_seq INCREMENT BY 2"
_RESTART = "SELECT setval('fairlead.jobs_id_seq', %s, false)"


def insert_of_account(db: Database) -> int:
    """Insert a job of the account that may run one at a time."""
    row = db.execute(_ACCOUNT).fetchone()
    assert row is not None
    return int(row[0])


def test_late_jobs_behind_a_blocked_head_run_though_they_leave_many_holes(
    database_url: str, db: Database, connect: Connect
) -> None:
    """More holes than are watched: a scan finds what was committed into the others."""
    policy_storage.store(db, _KEYED, author="test")
    worker = register(db, slots=100)
    early, late = connect(autocommit=False), connect(autocommit=False)
    early.execute(_INSERT, [1])
    running = insert_of_account(db)
    with scheduling(database_url) as replica:
        led(db)
        value = replica.metrics.registry.get_sample_value
        # A leader's first scans read again in any case, for what it has not seen begin.
        until(lambda: value("fairlead_lanes_unwatched") == 1, what="the lane being counted")
        early.rollback()
        until(lambda: value("fairlead_lanes_unwatched") == 0, what="a scan of all lanes")
        until(lambda: places(db, running) == ("queued",), what="the dispatch")
        (lease,) = claim(db, worker)
        blocked = insert_of_account(db)
        # Every other id goes to a transaction that is still open when the rest is visible.
        db.execute(_STEP)
        db.execute(_RESTART, [blocked + 1])
        late.execute(_INSERT, [_JOBS])
        db.execute(_RESTART, [blocked + 2])
        db.execute(_INSERT, [_JOBS])

        assert drained(db, worker, _JOBS)
        late.commit()
        assert drained(db, worker, _JOBS)

        assert ("pending",) == places(db, blocked)
        finish(db, [lease])
        until(lambda: places(db, blocked) == ("queued",), what="the account's next job")


def drained(db: Database, worker: int, jobs: int) -> bool:
    """Claim and finish until so many jobs have ended."""
    ended: list[int] = []

    def work() -> bool:
        while leases := claim(db, worker, limit=100):
            ended.extend(finish(db, leases))
        return len(ended) == jobs

    return until(work, what=f"{jobs} jobs being dispatched", seconds=20)


def test_the_lanes_in_which_an_open_transaction_may_commit_unwatched_are_counted(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Its jobs have ids below the first that a new leader follows."""
    late = connect(autocommit=False)
    late.execute(_INSERT, [1])
    db.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('a', 'k'), ('b', 'k')")
    with scheduling(database_url) as replica:
        led(db)
        value = replica.metrics.registry.get_sample_value
        until(lambda: value("fairlead_lanes_unwatched") == 2, what="the lanes being counted")

        late.commit()

        until(lambda: value("fairlead_lanes_unwatched") == 0, what="a scan of all lanes")


def test_rows_that_nobody_sees_yet_are_left_to_the_scans(
    database_url: str, db: Database, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One open transaction with two million of them made each tick take 0.4 s.

    Here every read takes long. Others' jobs are found as ever, and its own at its end.
    """
    monkeypatch.setattr(loop, "_SLOW_READ_SECONDS", 0.0)
    worker = register(db, slots=100)
    late = connect(autocommit=False)
    insert_one(db)
    with scheduling(database_url) as replica:
        led(db)
        value = replica.metrics.registry.get_sample_value
        assert drained(db, worker, 1)
        until(lambda: value("fairlead_lanes_unwatched") == 0, what="a scan of all lanes")

        late.execute(_INSERT, [_FLOOD])
        until(lambda: value("fairlead_lanes_unwatched") == 1, what="a skip")
        insert_one(db)
        assert drained(db, worker, 1)

        late.commit()
        assert drained(db, worker, _FLOOD)
