"""Beside an open transaction nothing removes dead index entries: claims do not meet them."""

from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_TENANTS, _ENDED = 20_000, 1500
_ENTRIES_MAX = 300
"""Of the claim order, beside those of the jobs that are claimed: as many as were claimed since
the floor was written. It was 1,000 and more, the dead ones of all that had the floor's tag."""
_INSERT = """
    INSERT INTO fairlead.jobs (tenant, kind)
    SELECT 't' || i, 'noop' FROM generate_series(1, %s) i
"""
_FLUSH = "SELECT pg_stat_force_next_flush()"
_READ = """
    SELECT pg_stat_get_xact_tuples_returned('fairlead.work_queue_claim_order'::regclass)
"""


def claim_and_finish(db: Database, worker: int) -> tuple[int, int]:
    """Return how many jobs a claim got, and how many entries it met beside theirs."""
    db.execute(_FLUSH)
    with db.transaction():
        leases = claim(db, worker, limit=20)
        read = db.execute(_READ).fetchone()
    assert read is not None
    finish(db, leases)
    return len(leases), int(read[0]) - len(leases)


def test_claims_of_one_round_of_tenants_meet_few_dead_entries(
    database_url: str, db: Database, connect: Connect
) -> None:
    """The round's tags differ, so that the floor passes by what was claimed in it.

    The first rows are expected to take a hundred times as long as they do. Until the service
    that was given has reached their tags, each row follows the one before it.
    """
    db.execute(_INSERT, [_TENANTS])
    worker = register(db, slots=50)
    snapshot = connect(autocommit=False)
    snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    snapshot.execute("SELECT FROM fairlead.leaders")
    ended, met = 0, list[int]()
    with scheduling(database_url):
        led(db)

        def work() -> bool:
            nonlocal ended
            while ended < _ENDED:
                claimed, beside = claim_and_finish(db, worker)
                if not claimed:
                    return False
                ended += claimed
                met.append(beside)
            return True

        until(work, what="most jobs being ended", seconds=40)

    assert max(met) < _ENTRIES_MAX
