"""One PostgreSQL server for a whole run, with the settings that every contender shares.

The settings are those of the specification's table: a server of ordinary durability that is
not limited by its defaults. Each measurement gets a database of its own, cloned from the
contender's installed template, so that no round inherits dead rows from the one before.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from bench.processes import descendants, task_cpu_seconds, tree_cpu_seconds
from fairlead_cli.dev import postgres

SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "synchronous_commit": "on",
    "fsync": "on",
    "max_connections": "400",
    "track_io_timing": "off",
}


class Server:
    """A running server; use it through `running()`."""

    def __init__(self, own: postgres.Server) -> None:
        """Wrap a server that is started."""
        self._own = own
        self.version = str(self.value("show server_version"))

    def dsn(self, database: str = "postgres") -> str:
        """Return the URL of one database, for a superuser on loopback."""
        return self._own.url_of(database)

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """Open an autocommit connection."""
        return psycopg.connect(self.dsn(database), autocommit=True)

    def value(self, query: str, database: str = "postgres") -> object:
        """Run one statement and return the first column of its first row."""
        with self.connect(database) as connection:
            row = connection.execute(query.encode()).fetchone()
            assert row is not None
            return row[0]

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run one statement for its effect."""
        with self.connect(database) as connection:
            connection.execute(statement.encode())

    def create_database(self, name: str, template: str = "template0") -> str:
        """Create a database from a template, replacing an old one; return its URL."""
        self.drop_database(name)
        with self.connect() as connection:
            connection.execute(
                sql.SQL("create database {} template {}").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Drop a database and disconnect its clients; a repeat does nothing."""
        with self.connect() as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )

    def checkpoint(self) -> None:
        """Write all dirty pages, so that the next full-page images start from here."""
        self.execute("checkpoint")

    def wal_bytes(self) -> int:
        """Return the number of bytes of WAL ever written."""
        return int(str(self.value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")))

    def cpu_seconds(self) -> float:
        """Return the CPU time of every process of the server so far, ended ones included."""
        return tree_cpu_seconds(self._own.pid)

    def live_cpu_seconds(self) -> dict[int, float]:
        """Return the CPU time of each living process of the server, to the nanosecond."""
        return {pid: task_cpu_seconds(pid) for pid in descendants(self._own.pid)}

    @property
    def log(self) -> Path:
        """Return the server's log."""
        return self._own.log


@contextlib.contextmanager
def running(settings: Mapping[str, str] = SETTINGS) -> Generator[Server]:
    """Start a server in a temporary folder; stop it and remove the folder at the end."""
    folder = Path(tempfile.mkdtemp(prefix="bench-postgres-"))
    folder.chmod(0o755)  # as root, the server runs as another user, who must get in
    try:
        with postgres.Server(folder / "data", settings=settings) as own:
            yield Server(own)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
