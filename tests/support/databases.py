"""Servers and databases for tests: one server per test process, one database per test.

A database is cloned from a template that was migrated once. That is mostly the creation of 300
files, which takes 20 ms in memory and 200 ms or more on a disk, so memory is used if there is
enough of it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path

import psycopg
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.binaries import binaries
from fairlead_cli.dev.postgres import Server
from tests.support.leftovers import FOLDER

# Nothing survives a test run, so nothing needs to reach the disk. Autovacuum is off so that
# statistics change when a test says so. A deadlock shows after 100 ms.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "deadlock_timeout": "100ms",
    "shared_buffers": "64MB",
}

# A killed server that is never started again leaves nothing outside of its folder.
_EVERY_SERVER = {"dynamic_shared_memory_type": "mmap"}

_MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a private folder in it
_MEMORY_BYTES_LOWEST = 2 * 1024**3
_TEMPLATE = "template_migrated"
_numbers = count(1)


@contextmanager
def running_server(
    settings: Mapping[str, str],
    *,
    within: Path | None = None,
    data: Path | None = None,
    bin_dir: Path | None = None,
    primary: Server | None = None,
) -> Generator[Server]:
    """Start a server of the chosen version in a folder of its own, and remove both at the end.

    `FAIRLEAD_TEST_POSTGRES` chooses the major version; without it the wheel's newest runs.

    Args:
        settings: the server's.
        within: where the folder is made.
        data: the data folder of a stopped server, to begin with a copy of its databases.
        bin_dir: the programs, where it must be these.
        primary: it is a standby of this one, which began with the same data.
    """
    version = os.environ.get("FAIRLEAD_TEST_POSTGRES")
    folder = Path(tempfile.mkdtemp(prefix=FOLDER, dir=within))
    folder.chmod(0o755)  # as root, the server runs as the user `nobody`, which must get in
    programs = bin_dir or binaries(int(version) if version else None)
    wanted = {**_EVERY_SERVER, **settings}
    try:
        if data is not None:
            subprocess.run(["/bin/cp", "-a", str(data), str(folder / "pg")], check=True)
            (folder / "pg/postmaster.opts").unlink()  # it has the other server's port
        if primary is not None:
            (folder / "pg/standby.signal").touch()
            with (folder / "pg/postgresql.auto.conf").open("a") as settings_file:
                settings_file.write(f"primary_conninfo = '{primary.url_of('postgres')}'\n")
        with Server(folder / "pg", bin_dir=programs, settings=wanted) as server:
            yield server
    finally:
        shutil.rmtree(folder)


def make_template(server: Server) -> None:
    """Migrate the database that the tests' databases are cloned from."""
    with _connect(server.url) as connection:
        connection.execute(f"CREATE DATABASE {_TEMPLATE}")
    with _connect(server.url_of(_TEMPLATE)) as connection:
        migrate(connection)


@contextmanager
def cloned_database(
    server: Server,
    *,
    over: Connection[TupleRow] | None = None,
    template: str = _TEMPLATE,
) -> Generator[str]:
    """Clone a template, yield the clone's URL, and drop it, even while sessions use it.

    Args:
        server: the one that holds the template.
        over: a connection to it for both statements; None: each opens one.
        template: a database's name; nobody uses that database meanwhile.
    """
    name = f"test_{next(_numbers)}"
    called = sql.Identifier(name)
    copied = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
        called, sql.Identifier(template)
    )
    dropped = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(called)
    with nullcontext(over) if over else _connect(server.url) as connection:
        connection.execute(copied)
    try:
        yield server.url_of(name)
    finally:
        with nullcontext(over) if over else _connect(server.url) as connection:
            connection.execute(dropped)


def fast_folder() -> Path | None:
    """Return a folder in memory with room to spare that programs may run from, or None."""
    if not _MEMORY.is_dir():
        return None
    state = os.statvfs(_MEMORY)
    roomy = state.f_bavail * state.f_frsize >= _MEMORY_BYTES_LOWEST
    return _MEMORY if roomy and not state.f_flag & os.ST_NOEXEC else None


def _connect(url: str) -> Connection[TupleRow]:
    return psycopg.connect(url, autocommit=True)
