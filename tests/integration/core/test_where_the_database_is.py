"""Three ways to say where the database is: a URL, a file that holds one, libpq's variables."""

import os
import subprocess
import sys
from pathlib import Path
from socket import create_server

import pytest
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead
from tests.support.tree import SOURCES
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_LEADS = "SELECT FROM fairlead.leaders WHERE lease_until > now()"
_WORKS = "SELECT FROM fairlead.workers WHERE state = 'live'"


@pytest.mark.parametrize(
    ("command", "arrived"),
    [
        (["fairlead_scheduler.main"], _LEADS),
        (["fairlead_worker.main", "--app", "tests.support.child_app:tasks"], _WORKS),
    ],
    ids=["scheduler", "worker"],
)
def test_a_file_that_changes_is_read_before_the_next_attempt(
    db: Connection[TupleRow],
    database_url: str,
    tmp_path: Path,
    command: list[str],
    arrived: str,
) -> None:
    """A secret that is mounted late, or rotated, needs no restart."""
    file = tmp_path / "url"
    environment = {**os.environ, "FAIRLEAD_DATABASE_URL_FILE": str(file), "PYTHONPATH": SOURCES}
    environment.pop("FAIRLEAD_DATABASE_URL", None)
    with create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(30)
        file.write_text(f"postgresql://127.0.0.1:{elsewhere.getsockname()[1]}/before")
        program = subprocess.Popen(
            [sys.executable, "-m", *command], env=environment, stderr=subprocess.PIPE
        )
        try:
            elsewhere.accept()[0].close()
            file.write_text(database_url)

            until(
                lambda: db.execute(arrived.encode()).fetchone() is not None,
                what="arrival",
                seconds=30,
            )
        finally:
            program.terminate()
            program.communicate(timeout=30)


def test_libpqs_variables_say_it_where_nothing_else_does(
    fairlead: Fairlead, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PGHOST and the like, as for psql."""
    monkeypatch.delenv("FAIRLEAD_DATABASE_URL")
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    for word, value in conninfo_to_dict(database_url).items():
        monkeypatch.setenv(names[word], str(value))

    assert "no queue" in fairlead("queues")
