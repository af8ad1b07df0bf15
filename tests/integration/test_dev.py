"""`fairlead dev` keeps its whole fleet up, PostgreSQL included."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from fairlead.dev.binaries import PostgresError
from fairlead.dev.lasting import Lasting
from fairlead.dev.postgres import Server
from tests.support.databases import fast_folder
from tests.support.waiting import until

APP = """
import fairlead
tasks = fairlead.Tasks()
@tasks.handler("k")
def k(job): return None
"""
ENDED = "SELECT count(*) FROM fairlead.job_history WHERE outcome = 'succeeded'"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder that the server's account can enter."""
    with tempfile.TemporaryDirectory(prefix="fairlead-test-", dir=fast_folder()) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def told_url(said: Path) -> str | None:
    """Return the URL that `fairlead dev` has told its user, if it has."""
    _, _, rest = said.read_text().partition("export FAIRLEAD_DATABASE_URL=")
    return rest.split("\n")[0] if "\n" in rest else None


def ended(url: str) -> int:
    """Return how many jobs have succeeded; 0 while the server does not answer."""
    try:
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            row = connection.execute(ENDED).fetchone()
    except psycopg.OperationalError:
        return 0
    return int(row[0]) if row else 0


def enqueue(url: str) -> None:
    """Insert one job."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")


def test_dev_starts_a_killed_server_again_and_jobs_go_on(folder: Path) -> None:
    """After a SIGKILL of the postmaster the URL works again, and what had ended is there."""
    (folder / "devapp.py").write_text(APP)
    said, data = folder / "said", folder / "pg"
    words = ("--app", "devapp:tasks", "--workers", "1", "--data-dir", str(data))
    with (
        said.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "fairlead.cli", "dev", *words],
            cwd=folder,
            stderr=output,
            env={**os.environ, "PYTHONPATH": str(folder)},
        ) as dev,
    ):
        try:
            url = until(lambda: told_url(said), what="a URL", seconds=40)
            enqueue(url)
            until(lambda: ended(url) == 1, what="the end of a job", seconds=30)

            os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

            until(lambda: ended(url) == 1, what="the server's return", seconds=30)
            enqueue(url)
            until(lambda: ended(url) == 2, what="the end of another job", seconds=30)
        finally:
            dev.send_signal(signal.SIGINT)
            dev.wait(40)

    assert 0 == dev.returncode, said.read_text()
    assert "postgres ended; starting it again" in said.read_text()


def test_a_server_that_does_not_come_back_is_given_up(own_server: Server) -> None:
    """After five failed starts the last one's error is the answer, and each was said."""
    said: list[str] = []
    lasting = Lasting(own_server, lambda _name, line: said.append(line))
    own_server.kill()
    (own_server.data_dir / "global" / "pg_control").unlink()

    def given_up() -> bool:
        try:
            lasting.revive()
        except PostgresError as error:
            return "PostgreSQL does not stay up: " in str(error)
        return False

    until(given_up, what="the end of all tries", seconds=30)

    assert "ended; starting it again" == said[0]
    assert 6 == len(said)
