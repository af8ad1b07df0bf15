"""The protocol for workers in other languages, as its page describes it, run by psql."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.statements import load
from fairlead_cli.dev.binaries import binaries
from tests.support.logins import as_login, login
from tests.support.tree import ROOT

_PLAIN_SUCCESS = ("--no-psqlrc", "--quiet", "--tuples-only", "--no-align")
PAGE = ROOT / "docs" / "how-to" / "worker-in-another-language.md"


def blocks() -> tuple[str, ...]:
    """Return the page's SQL blocks in order."""
    return tuple(re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))


def block(with_words: str) -> str:
    """Return the one block that holds these words."""
    (found,) = (each for each in blocks() if with_words in each)
    return found


@pytest.fixture
def psql() -> Path:
    """Return a psql that fits the newest server here."""
    program = binaries().joinpath("psql")
    assert program.exists(), f"no psql beside the server in {program.parent}"
    return program


@pytest.fixture
def worker_url(database_url: str) -> Iterator[str]:
    """Yield the database's URL as a member of fairlead_worker."""
    with login(database_url, "fairlead_worker") as name:
        yield as_login(database_url, name)


def run(psql: Path, url: str, *scripts: str) -> subprocess.CompletedProcess[str]:
    """Run scripts in one session of psql that stops at the first error."""
    return subprocess.run(
        [psql, url, *_PLAIN_SUCCESS, "--set", "ON_ERROR_STOP=1", "--set", "VERBOSITY=verbose"],
        input="\n".join(scripts),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def queue_one(db: Connection[TupleRow], kind: str = "greet") -> int:
    """Insert one job and dispatch it."""
    row = db.execute(
        "insert into fairlead.jobs (kind) values (%s) returning id", [kind]
    ).fetchone()
    assert row is not None
    db.execute(
        load("fairlead_scheduler.loop", "dispatch"),
        {
            "epoch": 0,
            "pool": "default",
            "band": 0,
            "floor": 0,
            "ids": [row[0]],
            "vtags": [0],
            "estimates_us": [1000],
            "seen_us": [None],
            "used": None,
            "kinds": None,
            "counted": None,
            "workers": None,
            "timeout_default": "10 min",
            "timeout_max": "1 h",
        },
    )
    return int(row[0])


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        ("fairlead.complete", "succeeded"),
        ("the mail server said no", "scheduled"),
        ("hand_back", "queued"),
    ],
)
def test_a_worker_that_speaks_only_sql_ends_a_job(
    psql: Path, worker_url: str, db: Connection[TupleRow], ending: str, state: str
) -> None:
    """The page's blocks, run in order by psql, register, claim, renew, end and leave."""
    job = queue_one(db)
    end = block(ending)
    if ending == "the mail server said no":
        end = end.split(";")[0] + ";"
    done = run(
        psql,
        worker_url,
        block("fairlead.register_worker"),
        block("fairlead.claim("),
        block("renew_worker(:worker)"),
        block("fairlead.extend"),
        block("ids => ARRAY"),
        end,
        block("take_floor_scan_turn"),
        block("deregister_workers"),
    )

    assert done.returncode == 0, done.stderr
    row = db.execute("select state from fairlead.job_status where id = %s", [job]).fetchone()
    assert (state,) == row
    assert db.execute(
        "select count(*) from fairlead.workers where state = 'live'"
    ).fetchone() == (0,)


@pytest.mark.parametrize(
    ("change", "statement", "left"),
    [
        (
            "update fairlead.jobs set cancel_requested_at = now()",
            "fairlead.finish",
            "cancelled",
        ),
        ("update fairlead.jobs set expires_at = now()", "fairlead.finish", "expired"),
        ("delete from fairlead.jobs", "fairlead.release", None),
    ],
)
def test_a_worker_that_speaks_only_sql_ends_what_must_not_run(
    psql: Path,
    worker_url: str,
    db: Connection[TupleRow],
    change: str,
    statement: str,
    left: str | None,
) -> None:
    """A doomed job is ended as that."""
    queue_one(db)
    db.execute(change.encode())

    done = run(
        psql,
        worker_url,
        block("fairlead.register_worker"),
        block("fairlead.claim("),
        block(statement),
    )

    assert 0 == done.returncode, done.stderr
    states = db.execute("select state from fairlead.job_status").fetchall()
    assert ([] if left is None else [(left,)]) == states
    assert (0,) == db.execute("select count(*) from fairlead.work_queue").fetchone()


def test_a_stale_token_is_refused_with_its_own_sqlstate(
    psql: Path, worker_url: str, db: Connection[TupleRow]
) -> None:
    """A repeat of an ending raises FL001 and changes nothing."""
    queue_one(db)
    complete = block("fairlead.complete")

    done = run(
        psql,
        worker_url,
        block("fairlead.register_worker"),
        block("fairlead.claim("),
        complete,
        complete,
    )

    assert done.returncode == 3
    assert "FL001" in done.stderr
    assert db.execute("select count(*) from fairlead.job_history").fetchone() == (1,)
