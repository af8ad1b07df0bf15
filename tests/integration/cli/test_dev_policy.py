"""`fairlead dev --policy FILE` stores every save of the file, and nothing that is no policy."""

import os
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.policy_file import PolicyFile
from fairlead_cli.dev.postgres import Server
from fairlead_cli.main import run
from tests.support.dev import running_dev
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

STORED = "SELECT author, reason, document FROM fairlead.policy_versions ORDER BY version"


class Watched:
    """A file that is watched, and what was said of it."""

    def __init__(self, file: Path, url: str) -> None:
        self.file = file
        self.said: list[str] = []
        self._policy = PolicyFile(file, url, lambda _name, line: self.said.append(line))

    def save(self, text: str) -> None:
        """Write the file in place, with another time than before."""
        before = self.file.stat().st_mtime_ns
        self.file.write_text(text)
        os.utime(self.file, ns=(before + 1, before + 1))

    def look(self, times: int = 1) -> None:
        """Let it be looked at."""
        for _ in range(times):
            self._policy.look()


@pytest.fixture
def watched(tmp_path: Path, database_url: str) -> Watched:
    """Return a file with a policy, watched."""
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\n")
    return Watched(file, database_url)


def documents(db: Connection[TupleRow]) -> list[str]:
    """Return every stored document, oldest first."""
    return [str(row[2]) for row in db.execute(STORED)]


def test_the_file_is_stored_at_the_start(watched: Watched, db: Connection[TupleRow]) -> None:
    """And who stored it is said."""
    watched.look(3)

    assert [("fairlead dev", "policy.yaml was saved", "version: 1\n")] == db.execute(
        STORED
    ).fetchall()
    assert 1 == len(watched.said)
    assert watched.said[0].startswith("stored as version 1, digest ")


def test_what_is_for_nobody_is_said(watched: Watched, db: Connection[TupleRow]) -> None:
    """The save is stored all the same."""
    watched.save("rules: [{match: {label: tier=free}, when: hour < 6, hold: true}]")
    watched.look(2)

    assert 1 == len(documents(db))
    assert watched.said[1].startswith("warning: rules[0].match.label: no tenant under labels")


def test_every_save_is_stored_once(watched: Watched, db: Connection[TupleRow]) -> None:
    """As soon as the file has rested from one look to the next."""
    watched.look()
    watched.save("version: 2\n")
    watched.look()
    assert 1 == len(documents(db))
    watched.save("version: 3\n")
    watched.look(4)

    assert ["version: 1\n", "version: 3\n"] == documents(db)


def test_a_save_that_is_no_policy_changes_nothing(
    watched: Watched, db: Connection[TupleRow]
) -> None:
    """The sentence is said, once; the next good save is stored."""
    watched.look()
    watched.save("qeues: []\n")
    watched.look(4)
    watched.save("version: 2\n")
    watched.look(2)

    assert ["version: 1\n", "version: 2\n"] == documents(db)
    fault = "qeues: there is no such field; did you mean queues? (line 1)"
    assert f"refused, what was in force stays: {watched.file}: {fault}" == watched.said[1]
    assert [("fairlead dev", fault)] == db.execute(
        "SELECT author, said FROM fairlead.policy_events WHERE version IS NULL"
    ).fetchall()


def test_a_file_that_is_gone_for_a_while_is_watched_on(
    watched: Watched, db: Connection[TupleRow]
) -> None:
    """Editors save by renaming."""
    watched.look()
    watched.file.unlink()
    watched.look(3)
    watched.file.write_text("version: 2\n")
    watched.look(2)

    assert ["version: 1\n", "version: 2\n"] == documents(db)
    assert "cannot be read: No such file or directory" in watched.said[1]


def test_a_save_without_a_database_is_stored_when_there_is_one(
    watched: Watched, db: Connection[TupleRow], server: Server
) -> None:
    """It is said once that the database does not answer."""
    allow = f"ALTER DATABASE {db.info.dbname} ALLOW_CONNECTIONS"
    with psycopg.connect(server.url, autocommit=True) as elsewhere:
        elsewhere.execute(f"{allow} false".encode())
        watched.look(3)
        elsewhere.execute(f"{allow} true".encode())
    watched.look(2)

    assert ["version: 1\n"] == documents(db)
    assert ["the database does not answer: trying again"] == watched.said[:-1]


def test_dev_applies_each_save_while_it_runs(tmp_path: Path) -> None:
    """A save is stored within two seconds; a bad one is said, and the fleet goes on."""
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\n")
    with (
        running_dev("--policy", str(file)) as dev,
        psycopg.connect(dev.url, autocommit=True) as db,
    ):
        until(lambda: documents(db), what="the first version", seconds=30)
        file.write_text("qeues: []\n")
        until(lambda: "mean queues?" in dev.said.read_text(), what="a refusal", seconds=2)
        file.write_text("version: 22\n")

        until(lambda: len(documents(db)) == 2, what="the second version", seconds=2)

        assert ["version: 1\n", "version: 22\n"] == documents(db)


def test_dev_refuses_a_bad_policy_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and exit code 2."""
    file = tmp_path / "policy.yaml"
    file.write_text("qeues: []\n")

    code = run(["dev", "--app", "a:b", "--policy", str(file)])

    said = capsys.readouterr().err
    assert 2 == code
    assert f"{file}: qeues: there is no such field; did you mean queues? (line 1)" in said
    assert 1 == len(said.splitlines())
