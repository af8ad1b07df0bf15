"""`fairlead trace`: past traffic as others can play it."""

import json
from pathlib import Path

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead

_ENDED = """
    INSERT INTO fairlead.job_history
        (id, created_at, runnable_at, claimed_at, finished_at, attempt, max_attempts, crashes,
         losses, priority, outcome, queue, tenant, kind)
    SELECT id, now(), now() - interval '9 s' + at, now() - interval '4 s',
           now() - interval '4 s' + took, 1, 5, 0, 0, priority, 'succeeded', queue, tenant, 'k'
    FROM (VALUES (1, interval '2 s', interval '1.5 s', 'mail', 'acme', 7),
                 (2, interval '0 s', interval '0 s', 'mail', '', 0),
                 (3, interval '1 s', interval '1 s', 'other', 'acme', 7))
        AS v (id, at, took, queue, tenant, priority)
"""


def test_past_traffic_is_exported_in_the_order_in_which_it_became_runnable(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """When, for whom and how long: what another policy would have had to deal with."""
    db.execute(_ENDED)

    lines = fairlead("trace", "export").splitlines()
    mail = fairlead("trace", "export", "--queue", "mail").splitlines()

    assert [
        (0, "mail", "", 1, 0),
        (1_000_000, "other", "acme", 1_000_000, 7),
        (2_000_000, "mail", "acme", 1_500_000, 7),
    ] == [tuple(json.loads(line).values()) for line in lines]
    assert ["at_us", "queue", "tenant", "cost_us", "priority"] == list(json.loads(lines[0]))
    assert [lines[0], lines[2]] == mail


def test_a_trace_is_written_whole_or_not_at_all(
    fairlead: Fairlead, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """A file that is there is complete, and what stood there before stays until then."""
    file = tmp_path / "monday.jsonl"
    file.write_text("before")

    nothing = fairlead("trace", "export", "--output", str(file), code=1)
    kept = file.read_text()
    db.execute(_ENDED)
    nowhere = fairlead("trace", "export", "--output", str(tmp_path / "no" / "x"), code=2)
    said = fairlead("trace", "export", "--output", str(file))

    assert "no job ended within 1h" in nothing
    assert "before" == kept
    assert "cannot be written" in nowhere
    assert f"3 jobs written to {file}\n" == said
    assert 3 == len(file.read_text().splitlines())
    assert [file] == list(tmp_path.iterdir())
