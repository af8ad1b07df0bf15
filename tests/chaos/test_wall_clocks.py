"""Wall clocks are wrong by an hour or are set while everything runs; nothing depends on them.

The database's clock decides what is due and which lease has ended; a process only counts on.
"""

import os
import random
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from time import monotonic

import pytest

from fairlead import policy_storage
from tests.chaos import ruled
from tests.chaos.fleet import Fleet, Program
from tests.chaos.misfortunes import leading
from tests.chaos.ruled import RATED
from tests.chaos.wall_clocks import COMPILER, WallClock
from tests.support.race import Database
from tests.support.schedulers import led
from tests.support.schedules import schedule
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler, cc")

_HOUR = 3600
_KINDS = ("nap", "grind", "book", "book_async", "book_apart", "crunch")
_DUE_SECONDS, _LATE_SECONDS = 1.5, 2.0
_TIMEOUT_SECONDS = 1.0
_STEP_SECONDS, _STEPS = 0.15, 30


def clock(fleet: Fleet, name: str, seconds: int) -> WallClock:
    """Have the fleet's next programs live by a clock that is so many seconds ahead."""
    made = WallClock(fleet.folder / f"{name}.clock")
    made.set(seconds)
    fleet.environment = made.environment()
    return made


def insert_due(db: Database, count: int) -> list[int]:
    """Insert jobs that fall due in a moment, by the database's clock."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, run_at)"
        " SELECT 'nap', '{\"ms\": 5}', now() + make_interval(secs => %s)"
        " FROM generate_series(1, %s) RETURNING id",
        [_DUE_SECONDS, count],
    ).fetchall()
    return [int(row[0]) for row in rows]


def insert_overlong(db: Database) -> int:
    """Insert a job that would work for longer than the one attempt that it has may take."""
    row = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, timeout, max_attempts)"
        " VALUES ('grind', '{\"ms\": 60000}', make_interval(secs => %s), 1) RETURNING id",
        [_TIMEOUT_SECONDS],
    ).fetchone()
    assert row is not None
    return int(row[0])


def late_seconds(db: Database, jobs: list[int]) -> list[float]:
    """Return how long after they fell due these jobs were claimed, by the database's clock."""
    rows = db.execute(
        "SELECT extract(epoch FROM claimed_at - created_at)::float8 FROM fairlead.job_history"
        " WHERE id = ANY (%s)",
        [jobs],
    ).fetchall()
    return [float(row[0]) - _DUE_SECONDS for row in rows]


def fires(db: Database) -> list[datetime]:
    """Return the instants for which the schedule has fired."""
    rows = db.execute(
        "SELECT (headers ->> 'fairlead.fire_time')::timestamptz FROM ("
        "  SELECT headers FROM fairlead.job_history UNION ALL SELECT headers FROM fairlead.jobs"
        ") j WHERE headers ? 'fairlead.schedule'"
    ).fetchall()
    return [row[0] for row in rows]


@pytest.fixture
def far_apart(some_fleet: Fleet) -> tuple[Fleet, list[Program]]:
    """Return a fleet of which half is an hour ahead and half an hour behind; one leads."""
    fleet = some_fleet
    with fleet.connect() as db:
        ruled.begin(db)
        policy_storage.store(db, ruled.document(ruled.EASE), reason="chaos")
    clock(fleet, "ahead", _HOUR)
    schedulers = [fleet.scheduler("ahead-scheduler")]
    leading(fleet, schedulers)
    fleet.worker("ahead")
    clock(fleet, "behind", -_HOUR)
    schedulers.append(fleet.scheduler("behind-scheduler"))
    fleet.worker("behind")
    return fleet, schedulers


def test_a_program_lives_by_its_clock(tmp_path: Path) -> None:
    """Otherwise the tests below would show nothing."""
    asked = (
        "import sys, time, datetime;"
        "print(time.time(), datetime.datetime.now(datetime.UTC).timestamp(), flush=True);"
        "sys.stdin.readline(); m = time.monotonic(); time.sleep(0.01);"
        "print(time.time(), time.monotonic() - m)"
    )
    own = WallClock(tmp_path / "clock")
    own.set(_HOUR)
    process = subprocess.Popen(
        [sys.executable, "-c", asked],
        env={**os.environ, **own.environment()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        first, second = map(float, process.stdout.readline().split())
        own.set(-_HOUR)
        process.stdin.write("\n")
        process.stdin.close()
        third, slept = map(float, process.stdout.readline().split())

    assert abs(second - first) < 1
    assert -2 * _HOUR <= third - first < -2 * _HOUR + 60
    assert 0.01 <= slept < 60


@pytest.mark.long
def test_clocks_that_are_hours_apart_change_nothing(
    far_apart: tuple[Fleet, list[Program]], chance: random.Random
) -> None:
    """What is due, the rate, schedules, timeouts and the lead are as with right clocks."""
    fleet, (ahead, behind) = far_apart
    with fleet.connect() as db:
        schedule(db, "often", kind="nap", payload='{"ms": 1}')
        due = insert_due(db, 20)
        overlong = insert_overlong(db)
        fleet.insert("nap", 10, 8, queue=RATED)
        jobs = [job for kind in _KINDS for job in fleet.insert(kind, 60, 10)]
        fleet.await_starts(jobs, chance.randrange(1, len(jobs)))
        until(lambda: fires(db), what="a fire")
        until(lambda: len(late_seconds(db, due)) == len(due), what="those due", seconds=30)
        ahead.kill()
        late = insert_due(db, 20)
        until(lambda: fleet.leader_pid() == behind.pid, what="a take-over", seconds=20)
        db.execute("UPDATE fairlead.schedules SET enabled = false")
        fleet.wait_until_done(40)

        assert fleet.violations().is_empty, fleet.violations()
        assert [] == fleet.errors("lost") + fleet.errors("crashed")
        outcomes = {each.job: each.outcome for each in fleet.ended()}
        assert "failed" == outcomes.pop(overlong)
        assert {"succeeded"} == {*outcomes.values()}
        assert all(0 <= each < _LATE_SECONDS for each in late_seconds(db, due))
        assert all(0 <= each < 10 for each in late_seconds(db, late))
        rated = [each.at for each in ruled.dispatches(db) if each.queue == RATED]
        assert 0 == ruled.over_rate(rated)
        fired = fires(db)
        assert len(fired) == len({*fired}) <= (max(fired) - min(fired)).total_seconds() + 1


@pytest.mark.long
def test_clocks_that_are_set_while_everything_runs_change_nothing(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """Forth and back by an hour, many times a lease: no lease is lost, nor the lead."""
    fleet = some_fleet
    clocks = [clock(fleet, "scheduler", 0)]
    scheduler = fleet.scheduler()
    leading(fleet, [scheduler])
    clocks.append(clock(fleet, "worker", 0))
    worker = fleet.worker()
    with fleet.connect() as db:
        epoch = led(db)
        due = insert_due(db, 20)
        for _ in range(_STEPS):
            chance.choice(clocks).set(chance.choice((-_HOUR, 0, _HOUR)))
            for kind in chance.sample(_KINDS, 2):
                fleet.insert(kind, chance.randrange(1, 300), 2)
            over = monotonic() + _STEP_SECONDS
            until(lambda over=over: monotonic() >= over, what="the next step")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        fleet.wait_until_done(40)

        assert fleet.violations().is_empty, fleet.violations()
        assert {"succeeded"} == {each.outcome for each in fleet.ended()}
        assert [] == fleet.errors("lost") + fleet.errors("crashed") + fleet.errors("failed")
        assert epoch == led(db)
        assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.worker_leases").fetchall()
        assert all(0 <= each < _LATE_SECONDS for each in late_seconds(db, due))
    assert not worker.said("lease.lost")
