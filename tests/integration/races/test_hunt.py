"""Every role at once on a few jobs: no deadlock, and no job is lost or doubled."""

from collections import Counter
from concurrent.futures import Future
from functools import partial

import pytest

from fairlead.db.connect import SESSION
from tests.conftest import Background, Connect
from tests.support.race import Database, places
from tests.support.race_hunt import Account, application, dispatcher, hunt, sweeper, worker

ROLES = (application, application, dispatcher, sweeper, worker, worker, worker)


def hunted(connect: Connect, background: Background, seconds: float) -> tuple[Account, ...]:
    """Run all roles at once on sessions like a service's; return what each one saw."""
    hunts: list[Future[Account]] = []
    for seed, role in enumerate(ROLES):
        db = connect()
        for setting in (*SESSION, "set deadlock_timeout = '1s'"):  # as PostgreSQL is delivered
            db.execute(setting.encode())
        hunts.append(background(partial(hunt, db, role, seed=seed, seconds=seconds)))
    return tuple(each.result() for each in hunts)


@pytest.mark.parametrize("seconds", [4.0, pytest.param(20.0, marks=pytest.mark.long)])
def test_a_crowd_neither_deadlocks_nor_loses_nor_doubles_a_job(
    db: Database, connect: Connect, background: Background, seconds: float
) -> None:
    """One lock order: leader, worker, jobs, work_queue, and within a table by job id."""
    accounts = hunted(connect, background, seconds)

    inserted = {job for account in accounts for job in account.inserted}
    claims = Counter(lease.token for account in accounts for lease in account.claimed)
    finished = Counter(ending for account in accounts for ending in account.finished)
    assert [] == [each for account in accounts for each in account.deadlocks]
    assert inserted == known(db)
    assert {1} == {len(places(db, job)) for job in inserted}
    assert {1} == set(claims.values())
    assert {1} == set(finished.values())
    assert set(finished) == succeeded(db)


def known(db: Database) -> set[int]:
    """Return every job that the database knows, finished or not."""
    rows = db.execute(
        "SELECT id FROM fairlead.jobs UNION ALL SELECT id FROM fairlead.job_history"
        " UNION ALL SELECT job_id FROM fairlead.work_queue"
    )
    return {row[0] for row in rows.fetchall()}


def succeeded(db: Database) -> set[tuple[int, int]]:
    """Return the jobs that succeeded, each with the token that ended it."""
    rows = db.execute("SELECT id, token FROM fairlead.job_history WHERE outcome = 'succeeded'")
    return {(row[0], row[1]) for row in rows.fetchall()}
