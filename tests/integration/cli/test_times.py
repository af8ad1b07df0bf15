"""What `fairlead jobs list` says of times and errors, and how long `--in` is."""

import json
import re
from datetime import UTC, datetime, timedelta

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead
from tests.support.children import register

_WAITING = """
    INSERT INTO fairlead.jobs (kind, tenant, created_at)
    VALUES ('waits', 'acme', now() - interval '3 hours'),
        ('runs', 'acme', now() - interval '4 hours')
"""
_CLAIMED = """
    INSERT INTO fairlead.work_queue (
        job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant,
        worker, token, claimed_at, deadline)
    SELECT id, 1, 1, 1, now(), '1 min', 0, 'default', queue, tenant, %s, 7,
        now() - interval '2 minutes', now() + interval '1 min'
    FROM fairlead.jobs WHERE kind = 'runs'
"""
_ENDED = """
    INSERT INTO fairlead.job_history (
        id, created_at, claimed_at, finished_at, attempt, max_attempts, crashes, losses,
        priority, outcome, queue, tenant, kind, error)
    VALUES (-1, now() - interval '2 days', now() - interval '30 minutes',
        now() - interval '25 minutes', 1, 1, 0, 0, 0, 'failed', 'default', 'acme', 'failed',
        %s),
        (-2, now() - interval '2 days', NULL, now(), 0, 1, 0, 0, 0, 'cancelled', 'default',
        'acme', 'cancelled', NULL)
"""
_SECONDS = "SELECT extract(epoch FROM run_at - created_at)::float8 FROM fairlead.jobs"


def test_a_list_says_how_old_jobs_are_how_long_they_ran_and_what_went_wrong(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Of an error the first line, without what a list cannot show: its frames, line breaks."""
    worker = register(db, name="w")
    db.execute(_WAITING)
    db.execute(_CLAIMED, [worker])
    db.execute(_ENDED, ["ValueError: no address\n  send.py:7 in send"])

    heading, _, *lines = fairlead("jobs", "list").splitlines()

    assert ["kind", "age", "ran", "try", "error"] == heading.split()[4:]
    said = [re.split(r"\s{2,}", line.strip())[4:] for line in lines]
    assert said == [
        ["runs", "4 h", "2 m", "1/20"],
        ["waits", "3 h", "-", "0/20"],
        ["failed", "2 d", "5 m", "1/1", "ValueError: no address"],
        ["cancelled", "2 d", "-", "0/1"],
    ]


def test_a_number_alone_is_seconds(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """`--in 5` is in five seconds."""
    fairlead("enqueue", "k", "--in", "5")

    ((seconds,),) = db.execute(_SECONDS).fetchall()
    assert 4 < seconds <= 5


def test_a_pause_lasts_for_so_long_or_until_an_instant(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The list of queues says how long it still does; one made anew without an end has none."""
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=5, minutes=30)
    fairlead("pause", "q", "--for", "2h30m")
    said = json.loads(fairlead("pause", "r", "--until", f"{until:%Y-%m-%dT%H:%M:%S}", "--json"))
    fairlead("pause", "s", "--for", "1d")
    assert "paused queue 's'\n" == fairlead("pause", "s")

    shown = re.findall("paused(?:, [1-5] h)?", fairlead("queues"))

    assert until == datetime.fromisoformat(said["until"])
    assert [("q", True), ("r", True), ("s", None)] == db.execute(
        "SELECT queue, until > since + interval '119 minutes' FROM fairlead.paused ORDER BY 1"
    ).fetchall()
    assert ["paused, 2 h", "paused, 5 h", "paused"] == shown
