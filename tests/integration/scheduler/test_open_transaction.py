"""Beside an open transaction nothing removes dead index entries: claims pass them by."""

from fairlead_scheduler.loop.store import LoopStore
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, Lease, claim, dispatch, finish, insert, lead
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_QUEUED, _LEFT, _BATCH = 6000, 100, 100
_ENTRIES_MAX = 3500
"""Index entries that a claim meets; it was all 6,000 that had been queued with the same tag."""
_FLUSH = "SELECT pg_stat_force_next_flush()"
_READ = """
    SELECT pg_stat_get_xact_tuples_returned('fairlead.work_queue_claim_order'::regclass)
"""
_FLOOR = "SELECT vtag FROM fairlead.claim_floors WHERE band = 0"
_TAGS = "SELECT job_id, vtag FROM fairlead.work_queue"


def claim_counting(db: Database, worker: int) -> tuple[tuple[Lease, ...], int]:
    """Claim a batch; also returns how many index entries that met."""
    db.execute(_FLUSH)
    with db.transaction():
        leases = claim(db, worker, limit=_BATCH)
        read = db.execute(_READ).fetchone()
    assert read is not None
    return leases, int(read[0])


def test_claims_pass_by_the_dead_entries_of_rows_with_one_tag(
    database_url: str, db: Database, connect: Connect
) -> None:
    """The leader raises the tags of the rows that wait, and then the floor; they stay first."""
    worker = register(db, slots=4 * _BATCH)
    old = insert(db, count=_QUEUED)
    dispatch(db, old, epoch=lead(db))
    snapshot = connect(autocommit=False)
    snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    snapshot.execute("SELECT FROM fairlead.leaders")
    with scheduling(database_url):
        led(db)
        left = _QUEUED
        while left > _LEFT:  # rows are locked while their tags are raised: a claim may get none
            ended = claim(db, worker, limit=min(_BATCH, left - _LEFT))
            finish(db, ended)
            left -= len(ended)

        def is_raised() -> bool:
            insert(db, count=_LEFT)  # the next dispatch writes the floor
            row = db.execute(_FLOOR).fetchone()
            return row is not None and bool(row[0] > 1000)

        until(is_raised, what="the floor being raised")
        leases, met = claim_counting(db, worker)

    assert {lease.job for lease in leases} <= {*old}
    assert met < _ENTRIES_MAX


def test_tags_of_rows_that_wait_are_raised(database_url: str, db: Database) -> None:
    """Those of claimed rows are not, and none is by a leader that was deposed."""
    settings = SchedulerSettings(database_url=database_url)
    epoch = lead(db)
    jobs = insert(db, count=3)
    dispatch(db, jobs, epoch=epoch)
    worker = register(db, slots=1)
    (lease,) = claim(db, worker, limit=1)
    waiting = {*jobs} - {lease.job}

    assert waiting == LoopStore(db, settings, epoch=epoch).raise_tags([*jobs], 1 << 41)
    assert set() == LoopStore(db, settings, epoch=epoch - 1).raise_tags([*jobs], 1 << 41)

    tags = {int(row[0]): int(row[1]) for row in db.execute(_TAGS)}
    assert {lease.job: 1000} | dict.fromkeys(waiting, 1000 + (1 << 41)) == tags
