"""Jobs that an application keeps locked while they run stop nobody."""

from tests.chaos.fleet import Fleet
from tests.support.waiting import until

_INSERT = """
    INSERT INTO fairlead.jobs (kind, tenant, payload)
    SELECT 'nap', %s, jsonb_build_object('ms', %s::int) FROM generate_series(1, %s) RETURNING id
"""
_LOCK = """
    SELECT j.id FROM fairlead.jobs j WHERE j.tenant = 'a' AND EXISTS (
        SELECT FROM fairlead.work_queue q WHERE q.job_id = j.id AND q.token IS NOT NULL)
    FOR UPDATE
"""
_ENDED = "SELECT count(*) FROM fairlead.job_history WHERE tenant = 'b'"
_RUN_MS, _LONG_MS = 50, 2500
_SLOTS = 20


def test_others_run_while_a_transaction_holds_as_many_jobs_as_there_are_slots(
    some_fleet: Fleet,
) -> None:
    """What it holds has run, and has no slot."""
    fleet = some_fleet
    fleet.scheduler()
    fleet.worker(concurrency=_SLOTS)
    fleet.await_lead()
    with fleet.connect() as db, fleet.connect() as application:
        application.autocommit = False
        db.execute(_INSERT, ["a", _RUN_MS, 5000])
        held: set[int] = set()

        def holds_enough() -> bool:
            held.update(row[0] for row in application.execute(_LOCK.encode()).fetchall())
            return len(held) >= _SLOTS

        until(holds_enough, what="the locks of so many jobs", seconds=30)
        db.execute(_INSERT, ["b", _LONG_MS, _SLOTS])
        until(lambda: db.execute(_ENDED).fetchone() == (_SLOTS,), what="others", seconds=40)
        application.rollback()
