"""Slots kept free for short jobs over the real tables, without a policy."""

from fairlead import policy_storage
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish
from tests.support.schedulers import scheduling
from tests.support.waiting import until

SLOTS, KEPT = 20, 2
_INSERT = (
    "INSERT INTO fairlead.jobs (tenant, kind) SELECT %s, 'noop' FROM generate_series(1, %s)"
)
_QUEUED = """
    SELECT count(*) FROM fairlead.work_queue WHERE tenant = %s
"""


def queued(db: Database, tenant: str) -> int:
    """Return how many jobs of a tenant are in work_queue."""
    ((count,),) = db.execute(_QUEUED, [tenant]).fetchall()
    return int(count)


def test_a_quiet_tenants_job_starts_while_long_jobs_run_and_wait(
    database_url: str, db: Database, connect: Connect
) -> None:
    """A tenth of the slots is left to it, unless a policy says null."""
    worker = register(db, slots=SLOTS)
    session = connect()
    with scheduling(database_url):
        db.execute(_INSERT, ["long", SLOTS])
        until(lambda: queued(db, "long") == SLOTS - KEPT, what="the long jobs' dispatch")
        running = claim(session, worker, limit=SLOTS)

        for _ in range(3):
            db.execute(_INSERT, ["quiet", 1])
            until(lambda: queued(db, "quiet") == 1, what="the quiet tenant's dispatch")
            leases = claim(session, worker, limit=SLOTS)
            assert 1 == len(finish(session, leases))
        assert (SLOTS - KEPT, SLOTS - KEPT) == (len(running), queued(db, "long"))

        policy_storage.store(db, "fairness: {reserve: null}")
        until(lambda: queued(db, "long") == SLOTS, what="the rest of the long jobs")
