"""`fairlead schedules run`."""

import json

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead


def test_a_schedule_runs_now(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """The answer names the job; the audit log has who ran it and why."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, tenant, cron, kind)"
        " VALUES ('s', 'acme', '0 3 * * *', 'k')"
    )

    said = fairlead("schedules", "run", "s", "--actor", "ann", "--reason", "late")
    made = json.loads(fairlead("schedules", "run", "s", "--json"))

    (first,), (second,) = db.execute("SELECT id FROM fairlead.jobs ORDER BY id").fetchall()
    assert f"job {first} runs schedule 's'" in said
    assert {"tenant": "acme", "name": "s", "job": second} == made
    assert [(first, "s", "ann", "late")] == db.execute(
        "SELECT job_id, schedule, actor, reason FROM fairlead.audit"
        " WHERE verb = 'run_schedule' ORDER BY id LIMIT 1"
    ).fetchall()
    assert "unknown" in fairlead("schedules", "run", "none", code=1)
