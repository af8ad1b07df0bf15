"""Endings that the database refuses for a while are kept, and no job runs again."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from tests.support.children import RunningChild
from tests.support.dispatching import insert
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


def said(running: RunningChild, event: str) -> list[str]:
    """Return the lines of the child's log with an event."""
    return [line for line in running.log if f'"event": "{event}"' in line]


def keeps(running: RunningChild) -> None:
    """Wait until the child logs that it could not store an ending."""
    until(lambda: said(running, "endings.not_stored"), what="an ending that is not stored")


def tries_again(db: Connection[TupleRow]) -> None:
    """Wait until the child has had two more sessions for endings."""
    counted = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
    before = db.execute(counted).fetchone()
    assert before is not None

    def two_more() -> bool:
        now = db.execute(counted).fetchone()
        return now is not None and now[0] >= before[0] + 2

    until(two_more, what="another try")


def ended(db: Connection[TupleRow], job_id: int) -> tuple[object, ...]:
    """Wait until a job has ended; return how, at which attempt, and how often it failed."""
    return until(
        lambda: db.execute(
            "SELECT outcome, attempt, (SELECT count(*) FROM fairlead.attempt_errors e"
            " WHERE e.job_id = h.id) FROM fairlead.job_history h WHERE id = %s",
            [job_id],
        ).fetchone(),
        what=f"the end of job {job_id}",
        seconds=20,
    )


@contextmanager
def read_only_to_the_finisher(db: Connection[TupleRow]) -> Generator[None]:
    """Refuse endings as a server does that writes nothing."""
    db.execute(
        "CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN RAISE EXCEPTION 'read-only transaction' USING ERRCODE = '25006'; END $$"
    )
    db.execute(
        "CREATE TRIGGER refuses BEFORE DELETE ON fairlead.jobs"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuses()"
    )
    yield
    db.execute("DROP TRIGGER refuses ON fairlead.jobs")


@contextmanager
def no_partition(db: Connection[TupleRow]) -> Generator[None]:
    """Take today's and tomorrow's partitions of successes away for a while."""
    rows = db.execute(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i"
        " JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = 'fairlead.job_history_succeeded'::regclass"
    ).fetchall()
    detach = SQL("ALTER TABLE fairlead.job_history_succeeded DETACH PARTITION fairlead.{}")
    attach = SQL("ALTER TABLE fairlead.job_history_succeeded ATTACH PARTITION fairlead.{} ")
    for name, _ in rows:
        db.execute(detach.format(Identifier(name)))
    yield
    # The default one last: what is stored meanwhile would stand in the way of the others.
    for name, bound in sorted(rows, key=lambda row: row[1] == "DEFAULT"):
        db.execute(attach.format(Identifier(name)).as_string().encode() + str(bound).encode())


def test_a_read_only_server_is_waited_for_and_nothing_is_claimed_meanwhile(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A job that succeeded never runs again, even when its ending met a read-only server."""
    insert(db, "echo")
    until(lambda: running.counted("jobs_finished_total"), what="a first ending")
    with read_only_to_the_finisher(db):
        kept = insert(db, "where")
        keeps(running)
        later = insert(db, "where")
        tries_again(db)
        claimed = db.execute(
            "SELECT worker IS NOT NULL FROM fairlead.work_queue WHERE job_id = %s", [later]
        ).fetchone()

    assert (False,) == claimed
    assert ("succeeded", 1, 0) == ended(db, kept)
    assert ("succeeded", 1, 0) == ended(db, later)
    assert 0 == running.counted("stale_writes_total")


def test_a_success_without_a_partition_is_kept_and_logged_once(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """What keeps a success from being stored is no failure of its attempt."""
    with no_partition(db):
        kept = insert(db, "where")
        keeps(running)
        failed = insert(db, "raises", "discard")
        db.execute("UPDATE fairlead.work_queue SET deadline = now() WHERE job_id = %s", [kept])
        until(
            lambda: db.execute(
                "SELECT true FROM fairlead.work_queue"
                " WHERE job_id = %s AND deadline > now() + interval '30 seconds'",
                [kept],
            ).fetchone(),
            what="a deadline that is kept ahead",
        )

    assert ("succeeded", 1, 0) == ended(db, kept)
    assert ("failed", 1, 0) == ended(db, failed)
    assert 1 == len(said(running, "endings.not_stored"))
    assert '"level": "error"' in said(running, "endings.not_stored")[0]


def test_what_cannot_be_stored_delays_nothing_that_ended_with_it(
    running: RunningChild, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """An ending that no table takes is searched for in its batch; the others are stored."""
    go = tmp_path / "go"
    with no_partition(db):
        stuck = insert(db, "waits_for_file", str(go))
        failing = [insert(db, "raises", "discard") for _ in range(2)]
        running.runs(1)
        go.touch()

        assert [("failed", 1, 0)] * 2 == [ended(db, each) for each in failing]
    assert ("succeeded", 1, 0) == ended(db, stuck)


def test_an_ending_with_content_that_no_server_stores_fails_its_attempt(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """A refusal that is the job's own fault ends the attempt, with the database's message."""
    db.execute(
        "ALTER TABLE fairlead.job_history ADD CONSTRAINT result_is_modest"
        " CHECK (result IS NULL OR result <> '\"too much\"')"
    )
    refused, good = insert(db, "echo", "too much"), insert(db, "echo", "fine")

    assert ("succeeded", 1, 0) == ended(db, good)
    error = until(
        lambda: db.execute(
            "SELECT error FROM fairlead.attempt_errors WHERE job_id = %s", [refused]
        ).fetchone(),
        what="the failed attempt",
    )
    assert "its ending could not be stored" in error[0]
    assert "result_is_modest" in error[0]
    assert not said(running, "endings.not_stored")
