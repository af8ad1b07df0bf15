"""`fairlead jobs set-priority`: by id, and by queue, tenant and kind."""

import json

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli import batches
from tests.integration.conftest import Fairlead
from tests.support.race import insert, run_one

_PRIORITIES = "SELECT id, priority FROM fairlead.jobs ORDER BY id"
_AUDIT = "SELECT verb, actor, reason, details->>'priority' FROM fairlead.audit ORDER BY id"


def test_jobs_are_given_another_priority_by_id(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Each answer is printed; one that runs and one that is unknown are bad news."""
    low, high = insert(db, count=2)
    running = run_one(db).job
    to = ("--priority", "-5", "--actor", "ann", "--reason", "the import can wait")

    answers = json.loads(fairlead("jobs", "set-priority", str(low), *to, "--json"))
    again = fairlead("jobs", "set-priority", str(low), *to)
    refused = fairlead("jobs", "set-priority", str(running), "--priority", "9", code=1)
    unknown = fairlead("jobs", "set-priority", "999", "--priority", "9", code=1)

    assert [{"id": low, "answer": "changed"}] == answers
    assert "unchanged" in again
    assert f"running: {running}; a job that runs keeps its priority" in refused
    assert "unknown: 999" in unknown
    assert [(low, -5), (high, 0), (running, 0)] == db.execute(_PRIORITIES).fetchall()
    assert [("set_priority", "ann", "the import can wait", "-5")] == db.execute(
        _AUDIT
    ).fetchall()


def test_jobs_that_are_alike_are_given_another_priority_in_batches(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a transaction of its own, and so many at most; who runs is left and counted."""
    monkeypatch.setattr(batches, "_BATCH", 2)
    running = run_one(db).job
    jobs = insert(db, count=5)
    alike = ("--kind", "noop", "--priority", "8")

    some = json.loads(fairlead("jobs", "set-priority", *alike, "--limit", "3", "--json"))
    rest = fairlead("jobs", "set-priority", *alike)

    assert {"changed": 3, "running": 1, "locked": 0} == some
    assert rest.startswith("changed 2 jobs; 1 run and keep their priority, 0 are held by")
    assert [(running, 0), *((job, 8) for job in jobs)] == db.execute(_PRIORITIES).fetchall()
    assert [("set_priorities", "8")] * 3 == [row[::3] for row in db.execute(_AUDIT).fetchall()]


def test_what_names_no_jobs_or_no_priority_is_refused(fairlead: Fairlead) -> None:
    """In a sentence, before anything is asked."""
    both = fairlead("jobs", "set-priority", "7", "--queue", "q", "--priority", "1", code=2)

    assert "not both" in both
    assert "give ID..." in fairlead("jobs", "set-priority", "--priority", "1", code=2)
    assert "'--priority'" in fairlead("jobs", "set-priority", "7", code=2)
    assert "101" in fairlead("jobs", "set-priority", "7", "--priority", "101", code=2)
