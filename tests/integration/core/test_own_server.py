"""The embedded server keeps what was committed, and never runs twice on one folder."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from fairlead_cli.dev import process_table
from fairlead_cli.dev.binaries import PostgresError, binaries
from fairlead_cli.dev.postgres import Server

LEAVE_A_SERVER_BEHIND = """
import os, signal, sys
from pathlib import Path
from fairlead_cli.dev.postgres import Server
server = Server(Path(sys.argv[1]), bin_dir=Path(sys.argv[2]))
server.start()
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_server_recovers_what_was_committed_on_the_same_port(
    own_server: Server,
) -> None:
    """A SIGKILL of PostgreSQL loses nothing that was committed, and clients find it again."""
    url = own_server.url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS number")

    own_server.kill()
    own_server.start()

    assert url == own_server.url
    with psycopg.connect(url) as connection:
        assert (1,) == connection.execute("SELECT number FROM kept").fetchone()


def test_an_applications_tables_stay_out_of_fairleads_schema(own_server: Server) -> None:
    """The login is called as the schema is, and PostgreSQL would look there first."""
    with psycopg.connect(own_server.url) as connection:
        connection.execute("CREATE TABLE orders (id bigint)")

        where = connection.execute(
            "SELECT schemaname FROM pg_tables WHERE tablename = 'orders'"
        )

        assert [("public",)] == where.fetchall()


def test_a_folders_url_stays_unless_its_port_is_taken(own_server: Server) -> None:
    """What people have exported still works after the next start."""
    url, port = own_server.url, own_server.port
    own_server.stop()

    with Server(own_server.data_dir) as again:
        assert url == again.url
    with (
        socket.create_server(("127.0.0.1", port)),
        Server(own_server.data_dir) as elsewhere,
    ):
        assert port != elsewhere.port


def test_a_kill_ends_the_servers_children_too(own_server: Server) -> None:
    """No backend outlives a killed postmaster."""
    with psycopg.connect(own_server.url) as connection:
        backend = connection.info.backend_pid
        own_server.kill()

        assert not process_table.is_alive(backend)


def test_a_second_owner_of_a_folder_is_refused(own_server: Server) -> None:
    """Two processes never run servers on one folder; the second names the first."""
    with pytest.raises(PostgresError, match=f"in use by process {os.getpid()}"):
        Server(own_server.data_dir).start()


def test_a_server_whose_owner_was_killed_is_adopted(own_server: Server) -> None:
    """A leftover server is reused, and the one who adopts it can stop it."""
    own_server.stop()
    folder = own_server.data_dir
    bin_dir = binaries(int((folder / "PG_VERSION").read_text()))
    owner = subprocess.run(
        [sys.executable, "-c", LEAVE_A_SERVER_BEHIND, str(folder), str(bin_dir)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert -signal.SIGKILL == owner.returncode

    with Server(folder) as adopted:
        assert int(owner.stdout) == adopted.pid
    assert not process_table.is_alive(int(owner.stdout))


def test_a_shell_that_wants_ssl_elsewhere_reaches_the_server(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has no certificate, and listens on loopback only."""
    monkeypatch.setenv("PGSSLMODE", "require")

    own_server.restart()

    with psycopg.connect(own_server.url) as connection:
        assert (1,) == connection.execute("SELECT 1").fetchone()


def test_a_refused_setting_is_shown_with_the_servers_own_words(own_server: Server) -> None:
    """A server that stops while it starts is reported at once, with the end of its log."""
    own_server.stop()

    with pytest.raises(PostgresError, match='unrecognized configuration parameter "nonsense"'):
        Server(own_server.data_dir, settings={"nonsense": "1"}).start()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """A data folder that is not PostgreSQL's is refused and nothing in it is touched."""
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "dear.txt").write_text("Dear")

    with pytest.raises(PostgresError, match="choose"):
        Server(folder).start()

    assert ["dear.txt"] == [each.name for each in folder.iterdir()]


@pytest.mark.parametrize("name", ["letter.txt", "letter.txt/data"])
def test_a_file_in_the_folders_place_is_one_sentence(tmp_path: Path, name: str) -> None:
    """A file where the data folder or its parent should be is named, and left alone."""
    (tmp_path / "letter.txt").write_text("Dear")

    with pytest.raises(PostgresError, match=r"letter\.txt.*: choose another folder"):
        Server(tmp_path / name).start()

    assert "Dear" == (tmp_path / "letter.txt").read_text()


def test_a_port_that_is_taken_is_one_sentence(own_server: Server) -> None:
    """A port that another program has is reported in one sentence, without the server's log."""
    own_server.stop()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = int(other.getsockname()[1])

        with pytest.raises(PostgresError, match=f"^port {port} is taken: .*$"):
            Server(own_server.data_dir, port=port).start()


def test_a_version_that_is_not_there_is_named_with_those_that_are() -> None:
    """The error names what was asked, what was found and what to do."""
    with pytest.raises(PostgresError, match=r"no PostgreSQL 99 .*found: \d+ in .*install"):
        binaries(99)


def test_a_server_that_answers_no_more_is_one_sentence(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers when it is asked first; the session that makes the database is not had."""
    own_server.stop()
    connect, answered = psycopg.connect, list[int]()

    def once(url: str, *, autocommit: bool, connect_timeout: int) -> object:
        if answered:
            answered.append(connect_timeout)
            raise psycopg.errors.ConnectionTimeout("connection timeout expired")
        session = connect(url, autocommit=autocommit, connect_timeout=connect_timeout)
        answered.append(connect_timeout)
        return session

    monkeypatch.setattr(psycopg, "connect", once)
    with pytest.raises(PostgresError, match=r"answers no more .*: connection timeout expired"):
        own_server.start()

    assert [2, 60] == answered
    assert not own_server.is_running()
