"""A PgBouncer in transaction mode before a test's server, where its program is installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from fairlead_cli.dev.account import account
from fairlead_cli.dev.ports import free_port
from tests.support.waiting import until

_CONFIG = """
[databases]
* = host={host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
{console}
"""


def program() -> str | None:
    """Return where PgBouncer is; Debian puts it outside of a user's search path."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@dataclass(slots=True)
class Pooler:
    """A PgBouncer that may be killed and started again; see `pooling`."""

    command: Sequence[str | Path]
    folder: Path
    url: str
    """The server's, by way of it."""
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        with (self.folder / "log").open("ab") as log:
            started = account().popen(self.command, cwd=self.folder, output=log)
        self._process = started
        until(lambda: answers(self.url, started), what="PgBouncer answering")

    def kill(self) -> None:
        """End it with SIGKILL, and all that goes by way of it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> None:
        """Ask it to end."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)


@contextmanager
def pooling(url: str, *, sessions: int = 2, console: bool = False) -> Generator[Pooler]:
    """Run PgBouncer on a free port, before a server of which it keeps so many sessions.

    Args:
        url: The server's.
        sessions: How many it keeps.
        console: Whether the URL's user may ask it for its settings.
    """
    found = program()
    assert found is not None
    server = conninfo_to_dict(url)
    with tempfile.TemporaryDirectory(prefix="fairlead-test-") as name:
        port = free_port()
        folder = Path(name)
        folder.chmod(0o755)  # as root, it runs as the user `nobody`, which must get in
        (folder / "users").write_text(f'"{server["user"]}" ""\n')
        (folder / "config").write_text(
            _CONFIG.format(
                host=server["host"],
                server_port=server["port"],
                port=port,
                folder=folder,
                sessions=sessions,
                console=f"stats_users = {server['user']}" if console else "",
            )
        )
        pooler = Pooler([found, folder / "config"], folder, make_conninfo(url, port=port))
        try:
            pooler.start()
            yield pooler
        finally:
            pooler.stop()


@contextmanager
def pooled(url: str) -> Generator[str]:
    """Run PgBouncer on a free port and yield the same URL by way of it.

    Two server connections serve all clients, so that sessions are shared as in production.
    """
    with pooling(url) as pooler:
        yield pooler.url


def answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Return whether the pooler takes connections."""
    assert process.poll() is None, "PgBouncer stopped"
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def leak(url: str, settings: Mapping[str, str]) -> None:
    """Leave settings in both sessions of the pool, as an application's SET does."""
    with (
        psycopg.connect(url, prepare_threshold=None) as one,
        psycopg.connect(url, prepare_threshold=None) as other,
    ):
        for client in (one, other):  # each has a session to itself until both have committed
            for name, value in settings.items():
                pair = sql.Identifier(name), sql.Literal(value)
                client.execute(sql.SQL("SET {} = {}").format(*pair))
