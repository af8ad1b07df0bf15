"""A tenant has jobs in more queues than the leader keeps: it says so, and no job is lost."""

from tests.support.children import register
from tests.support.race import Database, claim, finish
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_LANES_MAX = 100
_QUEUES = 250
_FLOOD = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT 'queue ' || n, 'flood', 'noop' FROM generate_series(1, %s) n
"""
_LEFT = "SELECT count(*) FROM fairlead.jobs"


def test_a_flood_of_queues_is_bounded_and_drains(database_url: str, db: Database) -> None:
    """Scans find what was left out, as there is room for it."""
    worker = register(db, slots=50, lease="1 hour")
    with scheduling(database_url, lanes_max=_LANES_MAX, scan_seconds=1) as replica:
        led(db)
        db.execute(_FLOOD, [_QUEUES])
        over = replica.metrics.registry.get_sample_value
        until(lambda: over("fairlead_tenants_over_lanes") == 1, what="the tenant being counted")

        def drained() -> bool:
            claimed = claim(db, worker, limit=50)
            if claimed:
                finish(db, claimed)
            return db.execute(_LEFT).fetchone() == (0,)

        until(drained, what="every job being dispatched", seconds=30)
        until(lambda: over("fairlead_tenants_over_lanes") == 0, what="the count being back")
