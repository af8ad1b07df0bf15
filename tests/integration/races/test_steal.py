"""Attempts of lost workers come back, however many rows there are and whatever is locked."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from queue import SimpleQueue

import pytest

from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.rows import Event
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.race import (
    Database,
    claim,
    dispatch,
    insert,
    lead,
    leading,
    let_lapse,
    mark_dead,
    register,
)
from tests.support.waiting import until

Sweeping = Callable[..., Sweeps]
PAGES = 4
JOBS = 25 * PAGES  # a page of work_queue has room for fewer


@pytest.fixture
def sweeping(database_url: str, db: Database) -> Iterator[Sweeping]:
    """Yield a function that returns the sweeps of a leader that has just taken over."""
    with ExitStack() as opened:

        def take_over(*, sweep_max: int = 1000, pages: int = 8192) -> Sweeps:
            settings = SchedulerSettings.model_validate(
                {
                    "database_url": database_url,
                    "sweep_max": sweep_max,
                    "worker_lease_seconds": 1,
                }
            )
            session = connect_leader(settings, name="sweeps")
            wakeup = Wakeup()
            opened.callback(wakeup.close)
            return Sweeps(
                opened.enter_context(closing(session)),
                settings,
                epoch=lead(db),
                requests=Requests(lambda _task: None),
                events=SimpleQueue[Event](),
                wakeup=wakeup,
                metrics=Metrics(),
                steal_pages=pages,
            )

        yield take_over


def run(db: Database, count: int) -> tuple[int, ...]:
    """Have a new worker claim so many new jobs; return its id and theirs."""
    worker = register(db)
    assert count == len(dispatch(db, insert(db, count=count), epoch=leading(db)))
    return worker, *(lease.job for lease in claim(db, worker, limit=count))


def die(db: Database, worker: int) -> None:
    """Mark a worker dead whose lease has lapsed, without a word to the sweeps."""
    let_lapse(db, worker)
    assert (worker,) == mark_dead(db, epoch=leading(db))


def running(db: Database) -> set[int]:
    """Return the jobs that are leased."""
    held = db.execute("SELECT job_id FROM fairlead.work_queue WHERE worker IS NOT NULL")
    return {int(row[0]) for row in held.fetchall()}


def finish_round(sweeps: Sweeps) -> int:
    """Steal until there is no more of it; return how many looks that took."""
    looks = 1
    while sweeps.steal():
        looks += 1
        assert looks <= JOBS
    return looks


def test_jobs_that_a_session_has_locked_do_not_keep_others_from_being_taken_back(
    db: Database, connect: Connect, sweeping: Sweeping
) -> None:
    """A sweep is bounded and skips what is locked, and it comes to those behind that too."""
    user = connect(autocommit=False)
    sweeps = sweeping(sweep_max=2)
    worker, *jobs = run(db, 7)
    die(db, worker)
    held = jobs[:5]
    user.execute("SELECT FROM fairlead.jobs WHERE id = ANY(%s) FOR UPDATE", [held])

    finish_round(sweeps)
    left = running(db)
    user.commit()
    finish_round(sweeps)

    assert set(held) == left
    assert set[int]() == running(db)


def test_a_round_looks_at_a_stretch_of_the_table_at_a_time(
    db: Database, sweeping: Sweeping
) -> None:
    """What one look costs is bounded by pages, and its successor goes on where it stopped."""
    sweeps = sweeping(pages=1)
    worker, *jobs = run(db, JOBS)
    die(db, worker)

    assert sweeps.steal()
    left = running(db)
    looks = finish_round(sweeps)

    assert 0 < len(left) < len(jobs)
    assert looks >= PAGES - 1
    assert set[int]() == running(db)


def test_a_death_in_the_middle_of_a_round_has_another_one_follow(
    db: Database, sweeping: Sweeping
) -> None:
    """What a dead worker held is taken back at once, also where the round has been already."""
    sweeps = sweeping(pages=1)
    worker, *_ = run(db, JOBS)
    assert sweeps.steal()
    let_lapse(db, worker)

    def marked() -> bool:
        sweeps.mark_dead()
        row = db.execute("SELECT dead_at FROM fairlead.worker_leases").fetchone()
        return row is not None and row[0] is not None

    until(marked, what="the worker's death, a lease after the server's start")
    finish_round(sweeps)

    assert set[int]() == running(db)


def test_a_new_leader_takes_back_what_was_lost_before_its_time(
    db: Database, sweeping: Sweeping
) -> None:
    """It knows of no death and begins at the table's beginning."""
    former = sweeping(pages=1)
    worker, *jobs = run(db, JOBS)
    assert former.steal()
    die(db, worker)
    assert set(jobs) == running(db)

    finish_round(sweeping())

    assert set[int]() == running(db)
