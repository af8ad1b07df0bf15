"""What of the generated rows was accepted runs to its end on a real scheduler and workers."""

import json
import os
import random
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Program, fleet
from tests.integration.core.test_bad_input import VALUES, generated, insert
from tests.support.health import listening_port, page
from tests.support.logins import LogIn
from tests.support.programs import UNHURRIED, forked
from tests.support.waiting import until

_SAMPLE = 300
_KIND = "k"
_LEFT = "SELECT FROM fairlead.jobs WHERE kind = %s"
_ENDINGS = """
SELECT j.id, j.kind, j.expires_at IS NOT NULL AS expires, h.outcome, coalesce(h.error, '')
FROM accepted j JOIN fairlead.job_history h ON h.id = j.id
"""


def rows(drawn: random.Random) -> Iterator[dict[str, object]]:
    """Yield each wild value by itself, and then rows with more of them, for ever."""
    single = (
        {"kind": _KIND, column: value} for column, values in VALUES.items() for value in values
    )
    return chain(single, iter(lambda: generated(drawn), None))


def ends_well(kind: str, outcome: str, *, expires: bool) -> bool:
    """Tell whether a job ended as its row deserves."""
    match outcome:
        case "succeeded":
            return kind == _KIND
        case "expired":
            return expires
        case _:
            return outcome == "cancelled" and kind != _KIND


def logged(program: Program) -> set[str]:
    """Return the events of a program's log, each of whose lines is JSON."""
    lines = program.log.read_text("utf-8").splitlines()
    return {str(json.loads(line)["event"]) for line in lines}


def test_what_was_accepted_runs_to_its_end_on_a_fleet(
    database_url: str, db: Connection[TupleRow], log_in: LogIn, tmp_path: Path
) -> None:
    """Accepted and run once a pool serves the queue, whatever queue, tenant and payload."""
    seed = os.environ.get("FAIRLEAD_TEST_SEED") or str(random.SystemRandom().randrange(10**9))
    print(f"FAIRLEAD_TEST_SEED={seed}")  # noqa: T201 - how to repeat a run
    application = log_in("fairlead_enqueue")
    insertions = (insert(application, row) for row in rows(random.Random(seed)))
    assert _SAMPLE == len([*islice((each for each in insertions if not each.reason), _SAMPLE)])
    # What is for a later year is for now.
    db.execute("UPDATE fairlead.jobs SET run_at = now() WHERE run_at > now()")
    db.execute("CREATE TABLE accepted AS SELECT * FROM fairlead.jobs")
    queues = db.execute("SELECT count(DISTINCT queue) FROM accepted").fetchone()

    with fleet(database_url, tmp_path, UNHURRIED, starts=forked) as made:
        scheduler = made.start("scheduler", "fairlead_scheduler.main", "--health-port", "0")
        workers = [made.worker(name, more="--health-port 0") for name in ("one", "two")]
        until(lambda: not db.execute(_LEFT, [_KIND]).fetchall(), what="the end", seconds=60)
        # Those of other kinds wait for a worker that has them.
        db.execute("SELECT fairlead.cancel(id) FROM fairlead.jobs")
        made.wait_until_done(60)
        pages = [page(listening_port(each.pid), "metrics") for each in (scheduler, *workers)]
        codes = [each.stop() for each in (scheduler, *workers)]
        made.inserted.update(int(row[0]) for row in db.execute("SELECT id FROM accepted"))
        violations = made.violations()

    endings = db.execute(_ENDINGS).fetchall()
    badly = [row for row in endings if not ends_well(row[1], row[3], expires=row[2])]
    assert [] == badly
    assert _SAMPLE == len(endings)
    assert {"succeeded", "cancelled", "expired"} == {row[3] for row in endings}
    assert violations.is_empty, violations
    assert queues is not None
    assert queues[0] > 10
    assert [] == db.execute("SELECT * FROM fairlead.attempt_errors").fetchall()
    assert [0, 0, 0] == codes
    assert "child.died" not in set[str]().union(*map(logged, (scheduler, *workers)))
    assert all([*text_string_to_metric_families(each)] for each in pages)
