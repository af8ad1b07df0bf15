"""Queues and tenants on the pages: all as the views say them, or a part that says it is one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from fairlead.db.connect import Connection
from fairlead.inspection import fleet
from fairlead.inspection.rows import Row
from fairlead.settings import DatabaseSettings
from fairlead_console.reads import moments
from fairlead_console.reads.sessions import Sessions
from tests.support.race import Database

_JOBS = (
    "INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)"
    " SELECT 'q' || n %% %s, 't' || lpad((n %% %s)::text, 5, '0'), 'send',"
    " CASE WHEN n %% 7 = 0 THEN now() + interval '1 hour' END FROM generate_series(1, %s) n"
)
_IN_FLIGHT = (
    "INSERT INTO fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at, timeout,"
    " band, pool, queue, tenant)"
    " SELECT id, id, 1, 1, now(), interval '1 hour', 0, 'default', queue, tenant"
    " FROM fairlead.jobs WHERE run_at IS NULL ORDER BY id LIMIT 9"
)
_REPORT = (
    "INSERT INTO fairlead.fairness_reports (pool, epoch, since, at, report) VALUES"
    " ('default', 1, now() - interval '1 minute', now(), jsonb_build_object('tenants',"
    " jsonb_build_array(jsonb_build_object('queue', 'q0', 'tenant', %s::text, 'weight', 1,"
    " 'share', 0, 'entitled_share', 0.5, 'slot_seconds', 0, 'lag_slot_seconds', -9,"
    " 'oldest_wait_seconds', 3600))))"
)


@pytest.fixture
def session(database_url: str) -> Iterator[Connection]:
    """Yield a session of the console."""
    sessions = Sessions(DatabaseSettings(database_url=database_url))
    with sessions.one() as found:
        yield found
    sessions.close()


def plain(rows: list[Row], *, of: list[Row]) -> list[Row]:
    """Return rows without what other rows do not say too, and without the time."""
    known = of[0].keys() - {"now"}
    return [{name: row[name] for name in known} for row in rows]


def test_a_few_are_said_as_the_views_say_them(db: Database, session: Connection) -> None:
    """What waits, runs, is scheduled and paused, of each queue and tenant."""
    db.execute(_JOBS, [3, 11, 100])
    db.execute(_IN_FLIGHT)
    db.execute("SELECT fairlead.pause('q1'), fairlead.pause('q2', 't00002')")

    queues = fleet.queues(session)
    assert 3 == len(queues)
    assert plain(queues, of=queues) == plain(moments.queues(session), of=queues)

    for queue in (None, "q1"):
        tenants = moments.tenants(session, queue=queue, limit=50)
        viewed = fleet.tenants(session, queue=queue, limit=50)
        assert plain(tenants, of=tenants) == plain(viewed, of=tenants)
        assert (33 if queue is None else 11) == len(tenants)


def test_many_are_said_to_be_many(db: Database, session: Connection) -> None:
    """The oldest wait is that of the tenant that the leader says waits longest."""
    db.execute(_JOBS, [1, 1500, 3000])
    db.execute(_REPORT, ["t01499"])

    (row,) = moments.queues(session)
    tenants = moments.tenants(session, queue=None, limit=10)

    assert (1000, True) == (row["tenants"], row["tenants_is_more"])
    assert (False, 3000 - 3000 // 7) == (row["pending_is_more"], row["pending"])
    oldest = cast("datetime", row["oldest_pending_at"])
    assert timedelta(minutes=59) < datetime.now(UTC) - oldest < timedelta(minutes=61)
    assert 10 == len(tenants)
    assert "t01499" in {each["tenant"] for each in tenants}
