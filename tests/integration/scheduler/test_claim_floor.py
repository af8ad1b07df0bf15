"""The claim floor follows what is unclaimed, whatever came back below it."""

from tests.conftest import Connect
from tests.support.race import Database, claim, hand_back, insert, places, register
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until


def test_rows_that_come_back_below_the_floor_lower_it(
    database_url: str, db: Database, connect: Connect
) -> None:
    """A return reads the floor, and a dispatch raises it before the return is stored.

    Nothing else is pending, so no dispatch will write the floor again.
    """
    returning = connect(autocommit=False)
    worker = register(db)
    with scheduling(database_url):
        led(db)
        first = insert(db, count=5)
        until(lambda: all(places(db, job) == ("queued",) for job in first), what="dispatches")
        held = claim(db, worker, limit=5)
        assert {*first} == {lease.job for lease in held}
        for lease in held:
            assert "queued" == hand_back(returning, lease, "returned")
        second = insert(db, count=5)
        until(lambda: all(places(db, job) == ("queued",) for job in second), what="dispatches")

        returning.commit()

        until(lambda: not _below_the_floor(db), what="a floor below all that is unclaimed")
        assert {*first, *second} == {lease.job for lease in claim(db, worker, limit=10)}


def _below_the_floor(db: Database) -> bool:
    row = db.execute(
        "SELECT count(*) > 0 FROM fairlead.work_queue q"
        " JOIN fairlead.claim_floors f USING (pool, band)"
        " WHERE q.worker IS NULL AND q.vtag < f.vtag"
    ).fetchone()
    assert row is not None
    return bool(row[0])
