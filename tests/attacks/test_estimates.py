"""What a login reads from the planner's estimates, which rest on the rows of all."""

import json

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.support.logins import LogIn

Session = Connection[TupleRow]

_JOBS = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, dedup_key)
    SELECT 'their queue', 'their name', 'k', 'their key ' || i FROM generate_series(1, 3000) i
"""
_SCHEDULES = """
    INSERT INTO fairlead.schedules (queue, tenant, name, cron, kind)
    SELECT 'their queue', 'their name', 'schedule ' || i, '0 3 * * *', 'their kind'
    FROM generate_series(1, 3000) i
"""
_READABLE = """
    SELECT a.attrelid::regclass::text, a.attname::text FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relrowsecurity AND a.attnum > 0
      AND a.atttypid = 'text'::regtype AND a.attstattarget IS DISTINCT FROM 0
      AND has_column_privilege('fairlead_enqueue', c.oid, a.attnum, 'select')
"""


@pytest.fixture
def mine(db: Session, log_in: LogIn) -> Session:
    """Return a login of one tenant, where another has many jobs and schedules."""
    login = log_in("fairlead_enqueue")
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'mine')", [login.info.user])
    for rows in (_JOBS, _SCHEDULES):
        db.execute(rows.encode())
    db.execute("ANALYZE")
    return login


def estimate(login: Session, table: str, condition: str) -> tuple[int, float]:
    """Return how many rows the planner expects, and at what cost."""
    explain = f"EXPLAIN (FORMAT JSON) SELECT tenant FROM fairlead.{table} WHERE {condition}"
    row = login.execute(explain.encode()).fetchone()
    assert row is not None
    plan = json.loads(json.dumps(row[0]))[0]["Plan"]
    return int(plan["Plan Rows"]), float(plan["Total Cost"])


@pytest.mark.parametrize(
    ("table", "column", "theirs", "nobodys"),
    [
        ("jobs", "tenant", "their name", "other name"),
        ("jobs", "queue", "their queue", "other queue"),
        ("jobs", "dedup_key", "their key 1", "other key 1"),
        ("schedules", "tenant", "their name", "other name"),
        ("schedules", "name", "schedule 1", "schedool 1"),
        ("schedules", "kind", "their kind", "other kind"),
    ],
)
@pytest.mark.parametrize("operator", ["=", "<", ">="])
def test_estimates_tell_no_name_of_other_tenants(
    mine: Session, table: str, column: str, theirs: str, nobodys: str, operator: str
) -> None:
    """A name that is there and one that is not are the same to the planner."""
    found = {
        estimate(mine, table, f"{column} {operator} '{name}'") for name in (theirs, nobodys)
    }

    assert 1 == len(found)


def test_no_text_that_an_application_may_ask_for_is_analyzed(db: Session) -> None:
    """Those of tables of which row-level security hides rows."""
    assert [] == db.execute(_READABLE).fetchall()
