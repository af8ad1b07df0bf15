"""Suspect jobs share a few quarantine processes, one at a time in each, and delay no others."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet
from tests.chaos.history import Event
from tests.support.dispatching import dispatch_all
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

ONE_PROCESS = {"FAIRLEAD_QUARANTINE_PROCESSES": "1"}


def insert_crashed(
    fleet: Fleet, db: Connection[TupleRow], kind: str, milliseconds: int, count: int = 1
) -> tuple[int, ...]:
    """Insert and dispatch suspect jobs, which ran in a process that died."""
    ids = fleet.insert(kind, milliseconds, count)
    db.execute("UPDATE fairlead.jobs SET suspect = true WHERE id = ANY (%s)", [list(ids)])
    dispatch_all(db)
    return ids


def processes_of(fleet: Fleet) -> list[int]:
    """Return the processes in which jobs have started, one for each start."""
    return [each.pid for each in fleet.events() if each.event == "started"]


def starts(fleet: Fleet, jobs: tuple[int, ...]) -> tuple[Event, ...]:
    """Return the starts of these jobs."""
    return tuple(
        each for each in fleet.events() if each.event == "started" and each.job in jobs
    )


def waits_slotless(db: Connection[TupleRow]) -> int:
    """Return how many jobs the only worker holds in addition to its eight slots, by its row."""
    row = db.execute("SELECT slots, beside FROM fairlead.worker_leases").fetchone()
    assert row is not None
    assert 8 == row[0]
    return int(row[1])


def test_fifty_neighbours_of_a_poison_job_share_a_few_processes(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """A process that lives runs the next suspect job: no start for each."""
    worker = fleet.worker(concurrency=8)

    insert_crashed(fleet, db, "nap", 1, 50)
    fleet.wait_until_done(20)

    pids = processes_of(fleet)
    assert 50 == len(pids)
    assert len({*pids}) <= 4
    assert {*pids} <= {*worker.process_tree()}


def test_suspect_jobs_run_side_by_side_and_take_no_slot_while_they_wait(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Four of twelve run at once; on eight slots other jobs start at once."""
    fleet.worker(concurrency=8)
    alone = insert_crashed(fleet, db, "held", 0, 12)
    fleet.await_starts(alone, 4)

    fresh = fleet.insert("held", 0, 5)
    dispatch_all(db)
    fleet.await_starts(fresh, 4)
    until(lambda: waits_slotless(db) == 8, what="a row with the number that waits")
    pids = [each.pid for each in starts(fleet, alone)]
    fleet.release()
    fleet.wait_until_done(60)

    assert 4 == len(pids) == len({*pids})
    assert {"succeeded"} == {each.outcome for each in fleet.ended()}
    until(lambda: waits_slotless(db) == 0, what="a row of its own slots alone")


def test_a_suspect_job_that_waits_is_cancelled_before_the_others_end(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """It may wait for long; a request ends it as it ends what runs."""
    fleet.worker(concurrency=8)
    alone = insert_crashed(fleet, db, "held", 0, 5)
    fleet.await_starts(alone, 4)
    (waiting,) = {*alone} - {each.job for each in starts(fleet, alone)}

    db.execute("SELECT fairlead.cancel(%s)", [waiting])
    until(fleet.ended, what="its end")
    ended = fleet.ended()
    fleet.release()
    fleet.wait_until_done(20)

    assert [(waiting, "cancelled")] == [(each.job, each.outcome) for each in ended]


def test_a_poison_job_ends_and_its_neighbours_are_not_punished(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Only a death in quarantine counts, and only for the job that ran then."""
    fleet.worker(concurrency=16)

    before = insert_crashed(fleet, db, "nap", 1, 5)
    (poison,) = insert_crashed(fleet, db, "poison", 0)
    after = insert_crashed(fleet, db, "nap", 1, 5)
    fleet.wait_until_done(60)

    outcomes = {each.job: each.outcome for each in fleet.ended()}
    assert {poison: "failed", **dict.fromkeys(before + after, "succeeded")} == outcomes
    failed = db.execute("SELECT DISTINCT job_id, ended_as FROM fairlead.attempt_errors")
    assert [(poison, "crashed")] == failed.fetchall()
    deaths = [each for each in fleet.events() if each.event == "started" and each.job == poison]
    others = {each.pid for each in fleet.events() if each.job != poison}
    assert 3 == len({each.pid for each in deaths})
    assert not others.intersection(each.pid for each in deaths[1:-1])


def test_a_suspect_job_that_waits_is_not_taken_away_as_overdue(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Its time begins when it does; until then its worker extends its deadline."""
    fleet.environment = ONE_PROCESS
    fleet.worker(concurrency=4)
    insert_crashed(fleet, db, "nap", 4500)
    until(lambda: processes_of(fleet), what="a start")
    (waiting,) = fleet.insert("nap", 1)
    db.execute(
        "UPDATE fairlead.jobs SET suspect = true, timeout = '1 s' WHERE id = %s", [waiting]
    )
    dispatch_all(db)
    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.work_queue"
            " WHERE job_id = %s AND now() > claimed_at + interval '2 seconds'",
            [waiting],
        ).fetchone(),
        what="a wait of twice its time",
    )

    overdue = db.execute(
        "SELECT job_id FROM fairlead.work_queue WHERE deadline < now()"
    ).fetchall()
    fleet.wait_until_done(20)

    assert [] == overdue
    ends = {each.job: each.outcome for each in fleet.ended()}
    assert "succeeded" == ends[waiting]
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()


def test_a_suspect_job_that_waits_when_its_worker_is_lost_has_not_died_in_quarantine(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Only a death while it ran in quarantine counts."""
    fleet.environment = ONE_PROCESS
    worker = fleet.worker(concurrency=4)
    (runs,) = insert_crashed(fleet, db, "nap", 60_000)
    until(lambda: processes_of(fleet), what="a start")
    (waits,) = insert_crashed(fleet, db, "nap", 1)
    until(
        lambda: db.execute(
            "SELECT 1 FROM fairlead.work_queue"
            " WHERE job_id = %s AND deadline > claimed_at + timeout",
            [waits],
        ).fetchone(),
        what="a deadline that is kept",
    )
    worker.kill()

    db.execute(
        "SELECT fairlead._end_attempts(array_agg(q.job_id), array_agg(q.token),"
        " array_agg('lost'::text), array_agg(null::text), array_agg(null::interval))"
        " FROM fairlead.work_queue q"
    )

    deaths = db.execute("SELECT id, losses, lone_deaths FROM fairlead.jobs ORDER BY id")
    assert [(runs, 1, 1), (waits, 1, 0)] == deaths.fetchall()
    again = db.execute("SELECT alone FROM fairlead.work_queue WHERE job_id = %s", [waits])
    assert (True,) == again.fetchone()


def most_at_once(fleet: Fleet) -> int:
    """Return how many jobs have run at the same time at most."""
    steps = {"started": 1, "finished": -1}
    events = sorted(fleet.events(), key=lambda each: (each.at, steps[each.event]))
    running = [sum(steps[each.event] for each in events[:n]) for n in range(len(events) + 1)]
    return max(running)


def test_suspect_jobs_take_their_turn_at_their_kinds_bound(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """Beside each other, and beside those that are not suspect."""
    fleet.worker(concurrency=8)

    insert_crashed(fleet, db, "turn", 800, 4)
    fleet.insert("turn", 800, 3)
    dispatch_all(db)
    fleet.wait_until_done(40)

    assert {"succeeded"} == {each.outcome for each in fleet.ended()}
    assert 7 == len(processes_of(fleet))
    assert 1 == most_at_once(fleet)
