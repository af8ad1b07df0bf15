"""Jobs that an application has locked are passed over; those behind them in their lane run."""

import pytest

from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish, insert
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_SLOTS = 10
_CANCEL = "SELECT fairlead.cancel(id) FROM unnest(%s::bigint[]) id"
_LOCK = "SELECT FROM fairlead.jobs WHERE id = ANY (%s) FOR UPDATE"


def drain(db: Database, worker: int, jobs: int, *, seconds: float) -> set[int]:
    """Claim and finish until so many jobs have ended; return them."""
    ended: set[int] = set()

    def work() -> bool:
        while leases := claim(db, worker, limit=_SLOTS):
            ended.update(finish(db, leases))
        return len(ended) >= jobs

    until(work, what=f"{jobs} jobs being dispatched", seconds=seconds)
    return ended


@pytest.mark.parametrize("statement", [_CANCEL, _LOCK], ids=["cancelled", "locked"])
def test_a_lane_runs_behind_thousands_of_locked_jobs(
    database_url: str, db: Database, connect: Connect, statement: str
) -> None:
    """They are set aside, and go once they are locked no longer."""
    locked, rest = insert(db, count=3000), insert(db, count=100)
    application = connect(autocommit=False)
    application.execute(statement.encode(), [list(locked)])
    worker = register(db, slots=_SLOTS)

    with scheduling(database_url):
        led(db)
        assert {*rest} == drain(db, worker, 100, seconds=10)
        application.rollback()
        assert {*locked} == drain(db, worker, 3000, seconds=30)


def test_what_is_cancelled_behind_the_locked_is_forgotten(
    database_url: str, db: Database, connect: Connect
) -> None:
    """The rest has run meanwhile, and nothing waits for what is gone."""
    locked, rest = insert(db, count=3000), insert(db, count=100)
    application = connect(autocommit=False)
    application.execute(_CANCEL, [list(locked)])
    worker = register(db, slots=_SLOTS)

    with scheduling(database_url):
        led(db)
        assert {*rest} == drain(db, worker, 100, seconds=10)
        application.commit()
        more = insert(db, count=100)
        assert {*more} == drain(db, worker, 100, seconds=10)


def test_every_other_job_being_locked_stops_no_other(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Heads that are asked about come back at once where they are free."""
    jobs = insert(db, count=4000)
    application = connect(autocommit=False)
    application.execute(_LOCK, [list(jobs[::2])])
    worker = register(db, slots=_SLOTS)

    with scheduling(database_url):
        led(db)
        assert {*jobs[1::2]} == drain(db, worker, 2000, seconds=30)
