"""`fairlead dev psql` and `fairlead dev reset`, with a fleet beside them and without one."""

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support.dev import dev_command, project, running_dev

pytestmark = pytest.mark.any_server

MADE = ("psql", "-Atc", "CREATE TABLE orders (id bigint)")
WHERE = ("psql", "-Atc", "SELECT schemaname FROM pg_tables WHERE tablename = 'orders'")


@pytest.mark.long
def test_psql_opens_the_database_of_a_fleet_and_reset_leaves_it_alone() -> None:
    """Whose process is named."""
    with running_dev() as dev:
        folder = dev.said.parent
        made = dev_command(*MADE, folder=folder)
        refused = dev_command("reset", "--yes", folder=folder)
        there = dev_command(*WHERE, folder=folder)

    assert (0, "CREATE TABLE\n") == (made.returncode, made.stdout), made.stderr
    assert 2 == refused.returncode
    assert f"is in use by process {dev.pid}:" in refused.stderr
    assert "public\n" == there.stdout


def test_without_a_fleet_psql_starts_the_server_and_reset_empties_it() -> None:
    """The URL stays. Without a terminal to ask in, nothing is deleted unless that is said."""
    with project() as folder:
        data = folder / ".fairlead/postgres"
        with Server(data) as server, psycopg.connect(server.url) as connection:
            url = server.url
            connection.execute("CREATE TABLE orders (id bigint)")
        asked = dev_command("reset", folder=folder)
        kept = dev_command(*WHERE, folder=folder)

        emptied = dev_command("reset", "--yes", folder=folder)

        with Server(data) as server, psycopg.connect(server.url) as connection:
            found = connection.execute(WHERE[-1].encode()).fetchall()
            assert (url, []) == (server.url, found)

    assert (2, True) == (asked.returncode, asked.stderr.endswith(": say --yes\n"))
    assert (0, "public\n") == (kept.returncode, kept.stdout), kept.stderr
    assert (0, True) == (emptied.returncode, url in emptied.stdout), emptied.stderr


def test_a_database_of_ones_own_is_opened_and_not_reset(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """What `fairlead dev` has not made stays; psql's exit code is the command's."""
    with project() as folder:
        made = dev_command(*MADE, folder=folder, own=database_url)
        refused = dev_command("reset", "--yes", folder=folder, own=database_url)
        wrong = dev_command("psql", "-c", "SELECT nothing", folder=folder, own=database_url)
        there = sorted(each.name for each in folder.iterdir())

    assert 0 == made.returncode, made.stderr
    assert (1, ["devapp.py"]) == (wrong.returncode, there)
    assert 2 == refused.returncode
    assert "FAIRLEAD_DATABASE_URL names a database of yours" in refused.stderr
    assert [(0,)] == db.execute("SELECT count(*) FROM orders").fetchall()


def test_without_a_database_there_is_nothing_to_open_or_empty() -> None:
    """And nothing is made."""
    with project() as folder:
        opened = dev_command("psql", folder=folder)
        emptied = dev_command("reset", "--yes", folder=folder)
        there = sorted(each.name for each in folder.iterdir())

    assert (2, True) == (opened.returncode, "there is no database in" in opened.stderr)
    assert (0, True) == (emptied.returncode, "there is no database in" in emptied.stdout)
    assert ["devapp.py"] == there
