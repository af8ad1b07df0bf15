"""What a child claims: as much as there is room for, from where it may, and not a job more."""

from typing import LiteralString

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.statements import integers, load
from fairlead.job import Claimed
from fairlead_worker.attempts import attempt_store
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import ASYNC, THREAD
from tests.conftest import Connect
from tests.support import race
from tests.support.children import RunningChild, child, register
from tests.support.dispatching import dispatch_all, insert, insert_many
from tests.support.waiting import notified, until

_CLAIMED = "SELECT count(worker) FROM fairlead.work_queue"
_LEFT = "SELECT count(*) FROM fairlead.jobs"
_LOOKED_SINCE = """
    SELECT true FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'fairlead worker claims'
      AND query LIKE '%%: claimable */%%' AND state_change > %s + interval '1 second'
"""
_LOOKS = """
    SELECT coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'claim_floors'
"""

_MORE_THAN_A_SOCKET_HOLDS = """
    SELECT pg_notify('fairlead_work', repeat('1', 7000) || n) FROM generate_series(1, 3000) n
"""
_HEARD_OUT = "SELECT pg_notification_queue_usage() = 0"


def number(db: Connection[TupleRow], query: LiteralString) -> int:
    """Return the one number that a query answers."""
    row = db.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def call_in_vain(db: Connection[TupleRow]) -> None:
    """Wake every worker, and wait until one has peeked more than a second later."""
    (called_at,) = db.execute("SELECT clock_timestamp()").fetchall()[0]
    db.execute("NOTIFY fairlead_work")
    until(
        lambda: db.execute(_LOOKED_SINCE, [called_at]).fetchone(),
        what="a look more than a second after the call",
    )


def test_a_claim_and_a_quarantine_start_return_the_columns_that_a_job_is_read_by(
    db: Connection[TupleRow],
) -> None:
    """A row is read by its columns' names, and made by their places."""
    who = {"worker": 0, "pool": "default", "limit": 1, "below_floor": False, "full_kinds": None}

    claim = db.execute(load("fairlead_worker.attempts", "claim"), who)
    begin = db.execute(
        load("fairlead_worker.attempts", "begin_in_quarantine"), {"job_id": 1, "token": 1}
    )

    assert [*Claimed._fields] == [each.name for each in claim.description or ()]
    assert [*Claimed._fields, "died_alone"] == [each.name for each in begin.description or ()]


def test_an_idle_child_peeks_without_writing_to_the_disk(db: Connection[TupleRow]) -> None:
    """A peek returns whether a claim would find something, and draws no transaction id."""
    worker = register(db, slots=10)
    holding_claims = {
        "worker": worker,
        "pool": "default",
        "limit": 10,
        "below_floor": False,
        "full_kinds": None,
    }
    seen: list[tuple[bool, int]] = []

    def look() -> None:
        with db.transaction():
            before = attempt_store.claimable(db, "default", below_floor=False).found
            (unmarked,) = db.execute(
                "SELECT pg_current_xact_id_if_assigned() IS NULL"
            ).fetchall()
            assert (True,) == unmarked
        claimed = db.execute(
            load("fairlead_worker.attempts", "claim"), holding_claims
        ).fetchall()
        seen.append((before, len(claimed)))

    look()
    insert_many(db, "echo", 3)
    look()
    look()

    assert [(False, 0), (True, 3), (False, 0)] == seen


def test_long_jobs_are_claimed_as_slots_become_free(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Claims never exceed the free slots of long jobs."""
    insert_many(db, "waits", 20)

    running.runs(4)
    assert 4 == number(db, _CLAIMED)
    lock.close()
    until(lambda: number(db, _LEFT) == 0, what="the end of all jobs")


@pytest.mark.usefixtures("lock")
def test_what_was_claimed_ahead_of_a_long_job_goes_back(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Prefetched jobs do not wait behind long ones: others may have them."""
    db.execute("ALTER SEQUENCE fairlead.places RESTART")

    insert_many(db, "echo", 3000)
    insert_many(db, "waits", 300)

    until(lambda: number(db, _LEFT) == 300, what="the end of the short jobs", seconds=20)
    running.runs(4)
    until(lambda: number(db, _CLAIMED) == 4, what="the return of what cannot start")
    assert (0, 0) == db.execute(
        "SELECT max(attempts), max(losses) FROM fairlead.jobs"
    ).fetchone()


def test_functions_and_coroutines_share_the_slots(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Concurrency counts all that runs, wherever it runs."""
    insert_many(db, "waits", 2)
    insert_many(db, "forever", 4)
    insert_many(db, "where", 5)
    insert_many(db, "echo", 5)
    entries = running.runs(4)

    assert [ASYNC] * 2 + [THREAD] * 2 == sorted(entry.flags for entry in entries)
    coroutines = [each for each in entries if each.flags == ASYNC]
    running.send(messages.Cancel(tuple(each.key for each in coroutines)))
    until(lambda: number(db, _LEFT) <= 14, what="two cancelled jobs")
    rest = until(
        lambda: found if len(found := running.running()) == 4 else None,
        what="four running jobs",
    )
    others = [each for each in rest if each.flags == ASYNC]
    running.send(messages.Cancel(tuple(each.key for each in others)))
    lock.close()
    until(lambda: number(db, _LEFT) == 0, what="the end of all jobs")


@pytest.mark.parametrize("kind", ["echo", "where"])
def test_thousands_of_short_jobs_each_end_once(
    running: RunningChild, db: Connection[TupleRow], kind: str
) -> None:
    """No job is lost between ready, running and stored, and none ends twice."""
    insert_many(db, kind, 5000)

    until(lambda: number(db, _LEFT) == 0, what="the end of all jobs", seconds=30)

    assert (5000, 5000, 5000) == db.execute(
        "SELECT count(*), count(DISTINCT id), count(DISTINCT token) FROM fairlead.job_history"
        " WHERE outcome = 'succeeded'"
    ).fetchone()
    until(
        lambda: running.counted("jobs_finished_total", "default", kind, "succeeded") == 5000,
        what="the count of all jobs",
    )
    assert 5000 == running.counted("jobs_started_total", "default", kind)
    assert 0 == running.counted("stale_writes_total")


def test_a_row_below_the_floor_is_claimed_within_moments(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Once a second a worker claims below the floor, or such a row would wait for ever."""
    running.receives(messages.Idle)
    db.execute("UPDATE fairlead.claim_floors SET vtag = 1000000")
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('echo')")
    dispatch_all(db, wake=False)
    assert (True,) == db.execute(
        "UPDATE fairlead.work_queue SET vtag = 5 RETURNING vtag = 5"
    ).fetchone()
    db.execute("UPDATE fairlead.claim_floors SET vtag = 1000000")
    db.execute("UPDATE fairlead.floor_scans SET at = '-infinity'")

    db.execute("NOTIFY fairlead_work")

    until(lambda: number(db, _LEFT) == 0, what="the end of the job")


def test_a_peek_below_the_floor_sees_what_lies_there(db: Connection[TupleRow]) -> None:
    """Only a peek there sees it, so that a claim there is for a row that exists."""
    insert_many(db, "echo", 1)
    db.execute("UPDATE fairlead.work_queue SET vtag = 5")
    db.execute("UPDATE fairlead.claim_floors SET vtag = 1000000")

    seen = [
        attempt_store.claimable(db, "default", below_floor=below).found
        for below in (False, True)
    ]

    assert [False, True] == seen


def test_a_turn_that_was_taken_before_the_clock_was_set_back_is_over(
    db: Connection[TupleRow],
) -> None:
    """Nobody would claim below the floor until the clock has caught up."""
    db.execute("UPDATE fairlead.floor_scans SET at = now() + interval '14 days'")

    looked = attempt_store.claimable(db, "default", below_floor=False)
    turns = [attempt_store.take_floor_scan_turn(db, "default") for _ in range(2)]

    assert (True, [True, False]) == (looked.turn_due, turns)


def test_a_child_that_is_woken_in_vain_peeks_a_few_times_and_rests(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Others have had the turn below the floor; it asks again in a second, not at once."""
    running.receives(messages.Idle)
    before = number(db, _LOOKS)

    for _ in range(2):  # the server counts with a second's delay
        # As if others took the turns of the next two seconds.
        db.execute("UPDATE fairlead.floor_scans SET at = now() + interval '1 second'")
        call_in_vain(db)

    assert number(db, _LOOKS) - before < 20


def test_a_row_that_comes_back_wakes_idle_workers(
    connect: Connect, db: Connection[TupleRow]
) -> None:
    """No leader is needed for that; a row that is scheduled or stale wakes no worker."""
    lease = race.run_one(db)
    inbox = connect()
    inbox.execute("LISTEN fairlead_work")
    values = {
        "ids": integers([lease.job]),
        "tokens": integers([lease.token]),
        "ended_as": ["returned"],
        "errors": [None],
        "delays": [None],
    }
    hand_back = load("fairlead_worker.attempts", "hand_back")

    (first,) = db.execute(hand_back, values).fetchall()
    (again,) = db.execute(hand_back, values).fetchall()

    assert ("queued", "stale") == (first[2], again[2])
    assert [""] == notified(inbox, db, "fairlead_work")


def test_a_child_reports_when_it_has_nothing_to_do(
    running: RunningChild, lock: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Idle is sent once all is stored and a claim found nothing, busy at the next claim."""
    running.receives(messages.Idle)

    insert(db, "waits")

    running.receives(messages.Busy)
    running.runs()
    assert 1 == len([each for each in running.received if isinstance(each, messages.Idle)])
    lock.close()
    running.receives(messages.Idle, count=2)
    assert 0 == number(db, _LEFT)


def test_a_wakeup_that_names_this_worker_among_others_wakes_it(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A NOTIFY is for every worker or for the workers that it names."""
    running.receives(messages.Idle)
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('echo')")
    dispatch_all(db, wake=False)

    db.execute("SELECT pg_notify('fairlead_work', '99999,' || id) FROM fairlead.worker_leases")

    until(lambda: number(db, _LEFT) == 0, what="the end of the job", seconds=1.5)


@pytest.mark.usefixtures("lock")
def test_a_full_child_reads_the_notifications_of_the_server(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Jobs may run for hours; a session that does not read keeps the server's snapshot open."""
    insert_many(db, "waits", 4)
    running.runs(4)

    db.execute(_MORE_THAN_A_SOCKET_HOLDS)

    until(lambda: db.execute(_HEARD_OUT).fetchone() == (True,), what="news that are all heard")


def test_a_dead_worker_claims_nothing(database_url: str, db: Connection[TupleRow]) -> None:
    """A claim needs a live row."""
    dead, live = register(db, name="dead"), register(db, name="live")
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [dead])
    with child(database_url, dead) as dying:
        dying.receives(messages.Idle)
        insert_many(db, "echo", 5)
        with child(database_url, live):
            until(lambda: number(db, _LEFT) == 0, what="the end of all jobs")

    workers = db.execute("SELECT DISTINCT worker FROM fairlead.job_history").fetchall()
    assert [(live,)] == workers


def test_a_child_works_where_it_cannot_listen(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Behind a pooler in transaction mode it polls."""
    environment = {"FAIRLEAD_DATABASE_DIRECT": "false"}
    with child(database_url, register(db), environment=environment) as running:
        running.receives(messages.Idle)

        db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('echo')")
        dispatch_all(db, wake=False)

        until(lambda: number(db, _LEFT) == 0, what="the end of the job", seconds=5)
