"""A PgBouncer in transaction mode before a test's server, where its program is installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
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
default_pool_size = 2
max_client_conn = 100
ignore_startup_parameters = extra_float_digits
"""


def program() -> str | None:
    """Return where PgBouncer is; Debian puts it outside of a user's search path."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pooled(url: str) -> Generator[str]:
    """Run PgBouncer on a free port and yield the same URL by way of it.

    Two server connections serve all clients, so that sessions are shared as in production.
    """
    found, who = program(), account()
    assert found is not None
    server = conninfo_to_dict(url)
    with tempfile.TemporaryDirectory(prefix="fairlead-test-") as name:
        port = free_port()
        folder = Path(name)
        folder.chmod(0o755)  # as root, it runs as the user `nobody`, which must get in
        (folder / "users").write_text(f'"{server["user"]}" ""\n')
        (folder / "config").write_text(
            _CONFIG.format(
                host=server["host"], server_port=server["port"], port=port, folder=folder
            )
        )
        with (folder / "log").open("wb") as log:
            process = who.popen([found, folder / "config"], cwd=folder, output=log)
        by_way = make_conninfo(url, port=port)
        try:
            until(lambda: answers(by_way, process), what="PgBouncer answering")
            yield by_way
        finally:
            process.terminate()
            process.wait(10)


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
