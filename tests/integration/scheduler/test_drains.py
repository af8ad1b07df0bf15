"""The scheduler counts no slots of a pod that is marked, and what is shared out follows."""

from fairlead import policy_storage
from tests.support import drains
from tests.support.children import register
from tests.support.race import Database
from tests.support.schedulers import scheduling
from tests.support.waiting import until

HALF = "queues: [{match: {queue: mail}, slots: {limit: '50%'}}]"


def in_flight(db: Database) -> int:
    """Count the rows of work_queue."""
    row = db.execute("SELECT count(*) FROM fairlead.work_queue").fetchone()
    assert row is not None
    return int(row[0])


def test_a_percentage_is_of_the_slots_that_jobs_may_come_to(
    database_url: str, db: Database
) -> None:
    """A mark halves what a limit of 50 % allows at once; the worker need not know of it yet."""
    policy_storage.store(db, HALF)
    register(db, slots=10, name="stays")
    drains.register(db, slots=10)
    drains.mark(db)
    with scheduling(database_url):
        db.execute(
            "INSERT INTO fairlead.jobs (queue, kind) SELECT 'mail', 'noop'"
            " FROM generate_series(1, 100)"
        )
        until(lambda: in_flight(db) >= 5, what="what half of ten slots allow")
        while_it_is_marked = in_flight(db)
        drains.lift(db)
        until(lambda: in_flight(db) == 10, what="what half of twenty slots allow")

    assert 5 == while_it_is_marked


def test_a_worker_that_has_not_heard_of_the_end_of_its_mark_has_no_slots_yet(
    db: Database,
) -> None:
    """Its claims are refused until its renewal says otherwise: nothing is put there."""
    worker = drains.register(db, slots=10)
    seen = [drains.slots(db, worker)]
    drains.mark(db)
    seen.append(drains.slots(db, worker))
    drains.renew(db, worker)
    drains.lift(db)
    seen.append(drains.slots(db, worker))
    drains.undrain(db, worker)
    seen.append(drains.slots(db, worker))

    assert [10, 0, 0, 10] == seen
