"""A job that nothing has checked is run or ended by a fleet, and delays nobody."""

import json
from pathlib import Path
from typing import cast

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet, Program, fleet
from tests.support import bad_rows
from tests.support.logged import Lines
from tests.support.programs import UNHURRIED, forked
from tests.support.race import cancel, insert, register
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_KIND = "k"
_GOOD = 2
"""How many ordinary jobs are inserted beside each bad one."""
_SESSION_LOST = {"scheduler.disconnected", "claims.interrupted", "task.failed", "child.died"}
_NEVER_DUE = {"run_at infinity", "run_at 294276"}
_UNHANDLED = {"kind empty", "kind of 10 kB", "kind of control characters"}
"""No worker has a handler for them, so that they wait for one."""
_SAID = {
    "expires_at -infinity": ("expired", "it expired while it waited to run"),
    "expires_at 4713 BC": ("expired", "it expired while it waited to run"),
    "payload nested 5,000 deep": ("failed", "payload cannot be read: "),
    "payload of 131,000 digits": ("failed", "payload cannot be read: "),
    "headers nested 5,000 deep": ("failed", "headers cannot be read: "),
    "headers a number": ("failed", "headers cannot be read: "),
}
"""How those end that do not succeed, and what their errors begin with."""
_OF_A_MILLISECOND = {
    "timeout zero",
    "timeout negative",
    "timeout of ages ago",
    "timeout -infinity",
}


def stored(db: Connection[TupleRow]) -> dict[int, str]:
    """Store every bad job, with good ones of its lane and of another; return what each is."""
    found: dict[int, str] = {}
    for called in (*bad_rows.JOBS, *bad_rows.ENDLESS):
        if bad_rows.exists(db, called):
            found[bad_rows.bad_job(db, called, _KIND)] = called
            db.execute(
                "INSERT INTO fairlead.jobs (kind, tenant) SELECT %s, repeat('other', n - 1)"
                " FROM generate_series(1, %s) n",
                [_KIND, _GOOD],
            )
    return found


def well_ended(called: str, outcome: str, error: str) -> bool:
    """Tell whether a bad job ended as it should, with a sentence where it did not succeed."""
    if called in _OF_A_MILLISECOND and outcome == "failed":
        return error.startswith("timeout: it ran longer than 0.001 s")
    expected, sentence = _SAID.get(called, ("succeeded", ""))
    return outcome == expected and error.startswith(sentence)


def events(program: Program) -> set[str]:
    """Return the events of a program's log."""
    lines = program.log.read_text("utf-8").splitlines()
    return {str(json.loads(line)["event"]) for line in lines}


def served(db: Connection[TupleRow], made: Fleet, bad: dict[int, str]) -> None:
    """Wait for all that can end, and check how it ended and that no session was lost."""
    never = {job for job, called in bad.items() if called in _NEVER_DUE | _UNHANDLED}
    until(lambda: never == {*made.unfinished()}, what="the end of all others", seconds=60)
    ended = db.execute("SELECT id, outcome, coalesce(error, '') FROM fairlead.job_history")
    badly: list[tuple[str, str, str]] = []
    for job, outcome, error in ended.fetchall():
        called = bad.get(job, "good")
        if not well_ended(called, outcome, error):
            badly.append((called, outcome, error[:200]))
    epochs = db.execute("SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'")
    lost = _SESSION_LOST & set[str]().union(*map(events, made.programs))

    assert [] == badly
    assert ([(1,)], set[str]()) == (epochs.fetchall(), lost)
    # One that waits for a handler may be on a worker just now.
    assert {"cancelled", "requested"} >= {cancel(db, job) for job in sorted(never)}


def test_a_leader_and_a_worker_outlive_bad_jobs_that_come(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """The leader reads them as new rows of the table."""
    with fleet(database_url, tmp_path, UNHURRIED, starts=forked) as made:
        made.scheduler()
        made.worker()
        made.await_lead(0)
        served(db, made, stored(db))


def test_a_leader_and_a_worker_outlive_bad_jobs_that_they_find(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """A new leader reads the lanes, and then what lies in each."""
    bad = stored(db)
    with fleet(database_url, tmp_path, UNHURRIED, starts=forked) as made:
        made.scheduler()
        made.worker()
        served(db, made, bad)


def test_the_leader_says_which_jobs_nothing_has_checked(
    database_url: str, db: Connection[TupleRow], logged: Lines
) -> None:
    """Each once, in its log and in a metric; a job that was admitted is none."""
    register(db)
    with scheduling(database_url) as replica:
        led(db)
        insert(db, count=5)
        bad = [bad_rows.bad_job(db, each) for each in ("cost_hint of ages", "run_at infinity")]
        count = replica.metrics.registry.get_sample_value
        until(lambda: count("fairlead_jobs_unchecked_total") == len(bad), what="the metric")
        insert(db, count=5)
        until(lambda: queued(db) == 2 * 5 + 1, what="the dispatch of all that are due")

    lines = [line for line in logged() if line["event"] == "jobs.unchecked"]
    assert bad == [job for line in lines for job in cast("list[int]", line["jobs"])]
    assert len(bad) == count("fairlead_jobs_unchecked_total")


def queued(db: Connection[TupleRow]) -> int:
    """Return how many jobs are dispatched."""
    row = db.execute("SELECT count(*) FROM fairlead.work_queue").fetchone()
    assert row is not None
    return int(row[0])
