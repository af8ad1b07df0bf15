"""A fleet whose database password changes again and again loses no job by it."""

import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from fairlead_cli.dev.postgres import Server
from fairlead_cli.main import run
from tests.chaos.fleet import fleet

pytestmark = [pytest.mark.any_server, pytest.mark.timeout(300)]

LOGIN = "expiring"
CHANGES = 8


@dataclass(frozen=True, slots=True)
class Expiring:
    """A login whose password is in a file, from which a command prints it."""

    server: Server
    file: Path

    @property
    def url(self) -> str:
        """The URL of the login, without a password."""
        return self.server.url.replace("//fairlead@", f"//{LOGIN}@")

    @property
    def environment(self) -> dict[str, str]:
        """What tells programs of the command."""
        return {"FAIRLEAD_DATABASE_PASSWORD_COMMAND": f"cat {shlex.quote(str(self.file))}"}

    def change(self) -> int:
        """Change the password and end every session of the login; return their number."""
        word = secrets.token_hex(8)
        with psycopg.connect(self.server.url, autocommit=True) as db:
            db.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(LOGIN), word))
            self.file.write_text(word + "\n")
            ended = db.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE usename = %s",
                [LOGIN],
            ).fetchone()
        assert ended is not None
        return int(ended[0])


@pytest.fixture
def expiring(own_server: Server, tmp_path: Path) -> Expiring:
    """Return a login that may schedule, work and read, and that has to say its password."""
    with psycopg.connect(own_server.url, autocommit=True) as db:
        db.execute(
            f"CREATE ROLE {LOGIN} LOGIN IN ROLE fairlead_scheduler, fairlead_worker,"
            " fairlead_autoscaler, fairlead_operator".encode()
        )
        rules = own_server.data_dir / "pg_hba.conf"
        line = f"host all {LOGIN} 127.0.0.1/32 scram-sha-256\n"
        rules.write_text(line + rules.read_text())
        db.execute("SELECT pg_reload_conf()")
    made = Expiring(own_server, tmp_path / "password")
    made.change()
    return made


def test_jobs_run_through_changes_of_the_password_and_none_is_lost(
    expiring: Expiring, tmp_path: Path
) -> None:
    """Each change ends every session, so programs connect with one after another."""
    ended: list[int] = []
    with fleet(expiring.server.url, tmp_path, expiring.environment) as made:
        made.scheduler(url=expiring.url)
        words = ["--app", "tests.chaos.app:tasks", "--concurrency", "8", "--name", "worker"]
        made.start("worker", "fairlead_worker.main", *words, url=expiring.url)
        for _ in range(CHANGES):
            jobs = made.insert("nap", 20, 100)
            made.await_starts(jobs, 20)
            ended.append(expiring.change())
        made.wait_until_done(120)

        assert made.violations().is_empty
        assert {"succeeded"} == {each.outcome for each in made.ended()}
        assert CHANGES * 100 == len(made.ended())
    assert min(ended) > 5, f"{ended}: the sessions of scheduler, worker and child"


def test_commands_ask_for_it_and_repeat_nothing_of_it(
    expiring: Expiring, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong password, and a command that fails, are one sentence each."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", expiring.url)
    for name, value in expiring.environment.items():
        monkeypatch.setenv(name, value)

    assert 0 == run(["queues"])
    capsys.readouterr()
    expiring.file.write_text("x7q9kw\n")
    assert 2 == run(["queues"])
    refused = capsys.readouterr().err
    assert "password authentication failed" in refused
    assert "x7q9kw" not in refused
    expiring.file.unlink()
    assert 2 == run(["queues"])
    said = capsys.readouterr().err
    assert "FAIRLEAD_DATABASE_PASSWORD_COMMAND: cat ended with exit code 1" in said
    assert 1 == said.count("\n")


def test_migrations_ask_for_it(
    expiring: Expiring, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The owner of a schema may have a token too."""
    with psycopg.connect(expiring.server.url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE other OWNER {LOGIN}".encode())
    url = expiring.url.replace("/fairlead", "/other")
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)
    for name, value in expiring.environment.items():
        monkeypatch.setenv(name, value)

    assert 0 == run(["migrate", "--wait", "20s"]), capsys.readouterr().err
    assert 0 == run(["queues"])
