"""Commands with --wait: they look until what they wait for is there, or say where it is."""

import re
import time
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.errors import NegativeAnswer
from fairlead_cli.main import run
from fairlead_cli.output.wait_for import succeeded
from tests.chaos.fleet import Fleet
from tests.integration.conftest import Fairlead


def test_enqueue_waits_until_the_job_has_succeeded(fairlead: Fairlead, fleet: Fleet) -> None:
    """With --wait it prints how the job ended; the handlers for trials need no application."""
    fleet.scheduler()
    fleet.start("worker", "fairlead_worker.main", "--app", "fairlead_cli.trial:tasks")

    said = fairlead("enqueue", "hello", "--tenant", "acme", "--wait", "30s")

    assert re.fullmatch(r"job \d+ succeeded\n", said)


def test_a_job_that_is_deleted_while_it_is_waited_for_is_said_to_be_gone(
    db: Connection[TupleRow],
) -> None:
    """Its history may be kept for less time than a command waits."""
    with pytest.raises(NegativeAnswer, match="job 77 is gone"):
        succeeded(db, 77, within=timedelta(seconds=30))


def test_enqueue_says_why_the_job_it_waited_for_failed(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 unless the job has succeeded, with its error."""

    def end_it(_seconds: float) -> None:
        db.execute(
            "SELECT fairlead._end_jobs(array_agg(id), '{failed}', '{boom}') FROM fairlead.jobs"
        )

    monkeypatch.setattr(time, "sleep", end_it)

    said = fairlead("enqueue", "hello", "--wait", "30s", code=1)

    assert re.fullmatch(r"fairlead: job \d+ failed: boom\n", said)


def test_enqueue_says_the_first_line_of_a_long_error(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence has no escaped line breaks; where the others are, it says."""

    def end_it(_seconds: float) -> None:
        db.execute(
            "SELECT fairlead._end_jobs(array_agg(id), '{failed}', array[%s])"
            " FROM fairlead.jobs",
            ["ValueError: no address\n  send.py:7 in send"],
        )

    monkeypatch.setattr(time, "sleep", end_it)

    said = fairlead("enqueue", "hello", "--wait", "30s", code=1)

    assert re.fullmatch(
        r"fairlead: job (\d+) failed: ValueError: no address"
        r" \(`fairlead jobs show \1` has the rest\)\n",
        said,
    )


def test_enqueue_says_where_the_job_is_when_the_time_is_over(fairlead: Fairlead) -> None:
    """A job that has not ended in time is no success, and `explain` knows more."""
    said = fairlead("enqueue", "hello", "--wait", "0s", code=1)

    assert re.fullmatch(
        r"fairlead: job (\d+) is pending after 0.0 s: `fairlead explain \1` says why\n", said
    )


def test_a_job_that_was_not_inserted_is_not_waited_for(fairlead: Fairlead) -> None:
    """How the job with the dedup key ends is not known, so it is no success."""
    fairlead("enqueue", "hello", "--dedup-key", "once")

    said = fairlead("enqueue", "hello", "--dedup-key", "once", "--wait", "30s", code=1)

    assert "fairlead: nothing inserted: an unfinished job has this dedup key\n" == said


def test_migrate_waits_for_the_secret_and_says_so(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With --wait a database that cannot be reached yet is tried again, and the reason said."""
    secret = tmp_path / "url"
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL_FILE", str(secret))

    def mount_it(_seconds: float) -> None:
        secret.write_text(database_url)

    monkeypatch.setattr(time, "sleep", mount_it)

    code = run(["migrate", "--wait", "30s"])

    said = capsys.readouterr()
    assert 0 == code
    assert f"fairlead: waiting: FAIRLEAD_DATABASE_URL_FILE: cannot read {secret}" in said.err
    assert 1 == said.err.count("\n")


def test_migrate_gives_up_when_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --wait one attempt is made, as before."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL_FILE", str(tmp_path / "url"))

    code = run(["migrate"])

    assert 2 == code
    assert "mount the secret there" in capsys.readouterr().err
