"""Which database `fairlead dev` runs on: the project's own, or the environment's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev import process_table
from tests.support.children import register
from tests.support.dev import dev_command, project, running_dev
from tests.support.logins import as_login, login
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

ENDED = "SELECT count(*) FROM fairlead.job_history WHERE outcome = 'succeeded'"
NAMELESS = 54_321
"""A user's id that no machine gives a name."""


def ended(url: str) -> int:
    """Return how many jobs have succeeded."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(ENDED).fetchone()
    return int(row[0]) if row else 0


def enqueue(url: str, kind: str = "k") -> None:
    """Insert one job."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO fairlead.jobs (kind) VALUES (%s)", [kind])


def server_processes(pid: int) -> list[str]:
    """Return the PostgreSQL servers among a process's children."""
    of = process_table.children(pid)
    return [each.name for each in process_table.living().values() if each.pid in of]


def refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    """Check that a run ended with exit code 2 and one sentence, which says this."""
    *before, last = done.stderr.splitlines() or [""]
    assert 2 == done.returncode, done.stderr
    assert last.startswith("fairlead: "), done.stderr
    assert said in last
    # What it is about to do may be said before.
    assert [] == [line for line in before if not line.startswith(("using ", "starting "))]


@pytest.mark.long
def test_each_project_has_a_database_of_its_own() -> None:
    """Two run at a time, and a job of one is not given to the other's workers."""
    with project() as one, project() as other:
        (other / "devapp.py").write_text("import fairlead\ntasks = fairlead.Tasks()\n")
        with running_dev(within=one) as first, running_dev(within=other) as second:
            enqueue(first.url)
            until(lambda: ended(first.url) == 1, what="the end of a job", seconds=30)

            assert first.url != second.url
            assert 0 == ended(second.url)
        assert "*" in (one / ".fairlead/.gitignore").read_text().splitlines()


def test_a_database_of_ones_own_is_used_and_no_server_started(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It is named without its password, and nothing is written into the project's folder.

    That others' workers are live there is said.
    """
    register(db)
    own = database_url.replace("fairlead@", "fairlead:hidden@")
    with project() as folder:
        with running_dev(within=folder, own=own) as dev:
            enqueue(database_url)
            until(lambda: ended(database_url) == 1, what="the end of a job", seconds=30)

            assert "postgres" not in server_processes(dev.pid)
        said = (folder / "said").read_text()
        there = {each.name for each in folder.iterdir()}

    assert (False, False) == ("hidden" in said, ".fairlead" in there)
    assert said.startswith("using the database test_")
    assert "warning: 1 other worker is live on it" in said


@pytest.mark.long
def test_the_schema_is_installed_where_there_is_none(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """An empty database is enough; a login that has the schema's name is told of it."""
    db.execute("DROP SCHEMA fairlead CASCADE")
    db.execute("ALTER ROLE fairlead SET search_path = '$user', public")
    try:
        with running_dev(own=database_url) as dev:
            enqueue(database_url)
            until(lambda: ended(database_url) == 1, what="the end of a job", seconds=30)
            said = dev.said.read_text()
    finally:
        db.execute("ALTER ROLE fairlead RESET search_path")

    assert "the schema fairlead is installed in it" in said
    assert "run ALTER ROLE fairlead SET search_path = public" in said


def test_a_login_that_may_not_install_the_schema_is_one_sentence(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """The sentence says as whom to log in."""
    db.execute("DROP SCHEMA fairlead CASCADE")
    with login(database_url) as name, project() as folder:
        own = as_login(database_url, name)

        done = dev_command("--app", "devapp:tasks", folder=folder, own=own)

    refused(done, "permission denied for database")


@pytest.mark.long
def test_a_url_that_dev_has_printed_is_the_projects_own() -> None:
    """It was exported in this terminal: the server is started, and is not missed."""
    with project() as folder:
        with running_dev(within=folder) as first:
            enqueue(first.url)
            until(lambda: ended(first.url) == 1, what="the end of a job", seconds=30)
        with running_dev(within=folder, own=first.url) as second:
            assert 1 == ended(second.url)
            assert "starting PostgreSQL" in second.said.read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("SELECT fairlead._own_database('shop/prod')", "belongs to the release shop/prod"),
        ("DELETE FROM fairlead.schema_versions WHERE version > 50", "run `fairlead migrate`"),
    ],
)
def test_a_database_that_is_not_for_this_is_refused(
    database_url: str, db: Connection[TupleRow], tmp_path: Path, change: str, said: str
) -> None:
    """One sentence and exit code 2; nothing is started or changed."""
    db.execute(change.encode())

    (tmp_path / "devapp.py").touch()
    done = dev_command("--app", "devapp:tasks", folder=tmp_path, own=database_url)

    refused(done, said)


@pytest.mark.parametrize(
    ("own", "words", "said"),
    [
        ("postgresql://127.0.0.1:1/x", (), "unset FAIRLEAD_DATABASE_URL"),
        ("postgresql://127.0.0.1:1/x", ("--data-dir", "pg"), "leave one out"),
        ("postgresql://127.0.0.1:1/x", ("--port", "5555"), "leave one out"),
        ("nonsense", (), "FAIRLEAD_DATABASE_URL: cannot be read"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, own: str, words: tuple[str, ...], said: str
) -> None:
    """A database that does not answer, or is not the only one that is named."""
    (tmp_path / "devapp.py").touch()
    done = dev_command("--app", "devapp:tasks", *words, folder=tmp_path, own=own)

    refused(done, said)
    assert ["devapp.py"] == [each.name for each in tmp_path.iterdir()]


def test_a_project_that_cannot_hold_the_folder_is_one_sentence() -> None:
    """The sentence says what else to do."""
    with project() as folder:
        (folder / ".fairlead").write_text("mine")

        done = dev_command("--app", "devapp:tasks", folder=folder)

        refused(done, "--data-dir")
        assert "mine" == (folder / ".fairlead").read_text()


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root, and setpriv",
)
@pytest.mark.long
def test_a_user_without_a_name_or_a_home_is_told_what_to_do(database_url: str) -> None:
    """A container's user may be a number only. On a database of its own it needs neither."""
    # It may read what root may, since the interpreter can be in root's home.
    reads = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    who = (f"--reuid={NAMELESS}", f"--regid={NAMELESS}", "--clear-groups", *reads)
    before = ("env", "--unset=HOME", "setpriv", *who)
    with project() as folder:
        unwritable = dev_command("--app", "devapp:tasks", folder=folder, before=before)
        os.chown(folder, NAMELESS, NAMELESS)
        nameless = dev_command("--app", "devapp:tasks", folder=folder, before=before)
        listed = dev_command(
            "psql", "-Atc", "SELECT 1", folder=folder, own=database_url, before=before
        )

    refused(unwritable, "cannot be written (Permission denied)")
    refused(nameless, "/etc/passwd")
    assert (0, "1\n") == (listed.returncode, listed.stdout), listed.stderr
