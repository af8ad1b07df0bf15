"""Running jobs that agreed to it make room for a tenant that has waited without a slot."""

import signal

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program, send
from tests.conftest import Connect
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

SLOTS = 4
AFTER_SECONDS = 1.0
_POLICY = f"fairness: {{reserve: null, eviction: {{after: {AFTER_SECONDS:g}s}}}}"
_INSERT = """
    INSERT INTO fairlead.jobs (tenant, kind)
    SELECT %s, %s FROM generate_series(1, %s) RETURNING id
"""
_RUNNING = "SELECT count(worker) FROM fairlead.work_queue WHERE tenant = %s"
_WAITED = """
    SELECT max(extract(epoch FROM claimed_at - created_at))::float8
    FROM fairlead.job_history WHERE tenant = 'quiet'
"""
_ASKED = "SELECT job_id, token FROM fairlead.evictions ORDER BY requested_at"


def started(fleet: Fleet, name: str = "worker") -> Program:
    """Start a worker; return it once it claims."""
    arguments = ["--app", "tests.support.child_app:tasks", "--concurrency", str(SLOTS)]
    worker = fleet.start(name, "fairlead_worker.main", *arguments)
    until(lambda: worker.said("child.ready"), what="a worker", seconds=60)
    return worker


def number(db: Connection[TupleRow], statement: str, *values: object) -> float:
    """Return the number that a statement returns; 0 for none."""
    row = db.execute(statement.encode(), values).fetchone()
    return float(row[0]) if row is not None and row[0] is not None else 0.0


def take_all_slots(db: Connection[TupleRow], kind: str, jobs: int = SLOTS) -> list[int]:
    """Have a tenant's jobs take all slots; return their ids."""
    db.execute("SELECT fairlead.apply_policy(%s, '0123456789ab')", [_POLICY])
    ids = [int(row[0]) for row in db.execute(_INSERT, ["flood", kind, jobs]).fetchall()]
    until(lambda: number(db, _RUNNING, "flood") == SLOTS, what="all slots taken", seconds=30)
    return ids


def quiet_job_ends(db: Connection[TupleRow], times: int = 1) -> float:
    """Insert the next job of another tenant; return the longest wait once so many ended."""
    db.execute(_INSERT, ["quiet", "echo", 1])
    ended = "SELECT count(*) FROM fairlead.job_history WHERE tenant = 'quiet'"
    until(lambda: number(db, ended) == times, what="the quiet tenant's job", seconds=30)
    return number(db, _WAITED)


@pytest.mark.parametrize("kind", ["makes_room", "makes_room_in_thread"])
def test_a_job_makes_room_and_goes_on_where_it_was(
    fleet: Fleet, db: Connection[TupleRow], kind: str
) -> None:
    """The quiet tenant starts; the other one's job runs again, in the same attempt."""
    fleet.scheduler()
    worker = started(fleet)
    jobs = take_all_slots(db, kind)

    waited = quiet_job_ends(db)

    assert AFTER_SECONDS < waited < AFTER_SECONDS + 1.5
    ((asked, token),) = db.execute(_ASKED).fetchall()
    assert asked in jobs
    outcome = "SELECT state, result, attempt FROM fairlead.job_status WHERE id = %s"
    until(
        lambda: (
            db.execute(outcome, [asked]).fetchone()
            == ("succeeded", f"half of {asked}, attempt 1", 1)
        ),
        what="the evicted job's end",
        seconds=20,
    )
    assert [("released", token)] == db.execute(
        "SELECT ended_as, token FROM fairlead.attempt_errors"
    ).fetchall()
    assert SLOTS - 1 == number(db, _RUNNING, "flood")
    assert worker.said("attempts.asked_to_make_room")


def test_a_floods_queued_rows_do_not_go_before_the_quiet_tenants(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """One run makes room, again and again: the flood keeps the other slots."""
    fleet.scheduler()
    started(fleet)
    take_all_slots(db, "makes_room", 40)

    for times in range(1, 4):
        waited = quiet_job_ends(db, times)

        assert AFTER_SECONDS < waited < AFTER_SECONDS + 1.5
        assert times == len(db.execute(_ASKED).fetchall())
        until(lambda: number(db, _RUNNING, "flood") == SLOTS, what="all slots taken")


def test_a_long_job_gets_a_slot_where_others_are_kept_for_short_ones(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """All slots for long jobs are taken, and one is free: it is for short jobs."""
    policy = "fairness: {reserve: {percent: 0, min: 1}, eviction: {after: 1s}}"
    insert = (
        "INSERT INTO fairlead.jobs (tenant, kind, cost_hint)"
        " SELECT %s, %s, '1 min' FROM generate_series(1, %s)"
    )
    db.execute("SELECT fairlead.apply_policy(%s, '0123456789ab')", [policy])
    fleet.scheduler()
    started(fleet)
    db.execute(insert, ["flood", "makes_room", 40])
    until(lambda: number(db, _RUNNING, "flood") == SLOTS - 1, what="the flood", seconds=30)

    db.execute(insert, ["quiet", "echo", 1])

    ended = "SELECT count(*) FROM fairlead.job_history WHERE tenant = 'quiet'"
    until(lambda: number(db, ended) == 1, what="the quiet tenant's job", seconds=30)
    assert AFTER_SECONDS < number(db, _WAITED) < AFTER_SECONDS + 1.5
    assert 1 == len(db.execute(_ASKED).fetchall())


def test_a_job_that_did_not_agree_is_never_asked(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """The one that agreed is asked, although the others began later and would lose less."""
    db.execute("SELECT fairlead.apply_policy('fairness: {reserve: null}', 'ba9876543210')")
    fleet.scheduler()
    started(fleet)
    ((agreed,),) = db.execute(_INSERT, ["flood", "makes_room", 1]).fetchall()
    until(lambda: number(db, _RUNNING, "flood") == 1, what="the job that agreed", seconds=30)
    db.execute(_INSERT, ["flood", "asks", SLOTS - 1])
    until(lambda: number(db, _RUNNING, "flood") == SLOTS, what="all slots taken", seconds=30)

    db.execute("SELECT fairlead.apply_policy(%s, '0123456789ab')", [_POLICY])
    quiet_job_ends(db)

    assert [(agreed,)] == db.execute("SELECT job_id FROM fairlead.evictions").fetchall()
    assert [(agreed,)] == db.execute("SELECT job_id FROM fairlead.attempt_errors").fetchall()


def test_a_handler_that_agreed_and_does_not_stop_is_killed_and_no_attempt_counts(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """As one that ignores its cancellation; its job runs again from its checkpoint."""
    fleet.scheduler()
    started(fleet)
    take_all_slots(db, "never_makes_room")
    noted = "SELECT count(*) FROM fairlead.job_progress"
    until(lambda: number(db, noted) == SLOTS, what="their progress", seconds=10)

    quiet_job_ends(db)

    ((asked, token),) = db.execute(_ASKED).fetchall()
    outcome = "SELECT state, result, attempt FROM fairlead.job_status WHERE id = %s"
    until(
        lambda: db.execute(outcome, [asked]).fetchone() == ("succeeded", "deaf", 1),
        what="the evicted job's end",
        seconds=30,
    )
    errors = (
        "SELECT ended_as, error FROM fairlead.attempt_errors WHERE job_id = %s AND token = %s"
    )
    (error,) = db.execute(errors, [asked, token]).fetchall()
    assert "released" == error[0]
    assert "did not make room within 1 s" in error[1]


def test_another_leader_evicts_when_one_dies_between_its_decision_and_the_request(
    fleet: Fleet, db: Connection[TupleRow], connect: Connect
) -> None:
    """A dead leader has asked nobody; the next one finds out by itself who waits."""
    scheduler = fleet.scheduler()
    started(fleet)
    take_all_slots(db, "makes_room")
    holder = connect(autocommit=False)
    holder.execute("LOCK TABLE fairlead.evictions IN ACCESS EXCLUSIVE MODE")
    db.execute(_INSERT, ["quiet", "echo", 1])
    waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'fairlead.evictions'::regclass"
    deciding = f"{waiting} AND NOT granted"
    until(lambda: number(db, deciding) > 0, what="a leader that decides", seconds=20)

    scheduler.kill()
    holder.rollback()

    assert [] == db.execute(_ASKED).fetchall()
    fleet.scheduler("second")
    done = "SELECT count(*) FROM fairlead.job_history WHERE tenant = 'quiet'"
    until(lambda: number(db, done) == 1, what="the quiet tenant's job", seconds=30)
    assert 1 == len(db.execute(_ASKED).fetchall())


def test_a_worker_that_dies_while_its_job_is_to_make_room_lets_it_go_last(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Its lease lapses; the job that was asked is pending, behind the tenant that waits."""
    fleet.scheduler()
    worker = started(fleet)
    take_all_slots(db, "never_makes_room")
    noted = "SELECT count(*) FROM fairlead.job_progress"
    until(lambda: number(db, noted) == SLOTS, what="their progress", seconds=10)
    db.execute(_INSERT, ["quiet", "echo", 1])
    until(lambda: db.execute(_ASKED).fetchone() is not None, what="a request", seconds=20)

    send(signal.SIGKILL, worker.process_tree())

    ((asked, _),) = db.execute(_ASKED).fetchall()
    lost = "SELECT losses, attempts, checkpoint FROM fairlead.jobs WHERE id = %s"
    until(
        lambda: db.execute(lost, [asked]).fetchone() == (1, 0, '"deaf"'),
        what="the end of the lease",
        seconds=30,
    )
    started(fleet, "second")
    ended = "SELECT count(*) FROM fairlead.job_history WHERE result = '\"deaf\"'"
    until(lambda: number(db, ended) == SLOTS, what="the end of all", seconds=30)
    claims = "SELECT extract(epoch FROM claimed_at) FROM fairlead.job_history WHERE "
    assert number(db, f"{claims} tenant = 'quiet'") < number(db, f"{claims} id = %s", asked)
