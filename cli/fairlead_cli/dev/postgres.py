"""One PostgreSQL server of our own, for `fairlead dev`, the tests and the benchmarks.

It listens on loopback and on a socket in its data folder, and **trusts** every connection: the
data is a developer's own and a password in the same home folder would protect nothing.
The limit of that: every local user of the machine can connect as its superuser. On a machine
that is shared with people you do not trust, run a server of your own and set
`FAIRLEAD_DATABASE_URL` instead.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType, TracebackType
from typing import IO, Self

import psycopg

from fairlead_cli.dev import data_folder, process_table
from fairlead_cli.dev.account import account, reachable
from fairlead_cli.dev.binaries import PostgresError, binaries, major_version
from fairlead_cli.dev.ports import free_port, is_free

NAME = data_folder.SUPERUSER  # and the database

_DEFAULTS = MappingProxyType(
    {
        "listen_addresses": "127.0.0.1",
        "max_connections": "200",
        "shared_buffers": "128MB",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] %a ",
        # By default the schema with the login's name comes first, and that one is Fairlead's:
        # an application's tables would land in it. A role or a database may say otherwise.
        "search_path": "public",
    }
)
_SOCKET_PATH_BYTES_MAX = 103  # macOS; Linux has 107
_LOG_BYTES_MAX = 16 * 1024 * 1024
_START_SECONDS = 60.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.02


def url_at(port: int, database: str = NAME) -> str:
    """Return the URL of a database of the server at this port, as its superuser."""
    # What a shell asks of the servers that it works with elsewhere, this one has not.
    plainly = "?sslmode=disable" if "PGSSLMODE" in os.environ else ""
    return f"postgresql://{NAME}@127.0.0.1:{port}/{database}{plainly}"


class Server:
    """A PostgreSQL server over one data folder, which this object owns while it is started.

    The folder is made by the first start and kept by every stop. Another process that has it
    started is respected: `start` raises. A server whose owner was killed is adopted: `start`
    keeps it running and serves its port and its settings, not ours.

    Args:
        data_dir: the cluster's folder; its parent holds its lock and must exist.
        bin_dir: the programs' folder; None takes the version that the data was made with,
            else what `binaries()` prefers.
        port: None takes that of the folder's last server, so that its URL stays, or a free one
            where that is taken; it is kept for the life of this object.
        settings: server settings by name, over the defaults.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        bin_dir: Path | None = None,
        port: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.data_dir = data_dir.resolve()
        self._bin_dir = bin_dir
        self._port = port
        self._settings = {**_DEFAULTS, **settings}
        self._account = account()
        self._lock: IO[str] | None = None
        self._log_from = 0  # bytes of the log that earlier starts wrote
        self._pid: int | None = None
        self._process: subprocess.Popen[bytes] | None = None  # None: adopted, not our child

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        if self._pid is None:
            raise PostgresError(f"the server of {self.data_dir} is not started")
        return self._pid

    @property
    def port(self) -> int:
        """The TCP port on loopback; the same after a restart."""
        if self._port is None:
            raise PostgresError(f"the server of {self.data_dir} was never started")
        return self._port

    @property
    def url(self) -> str:
        """The URL of the database `fairlead`, as its superuser."""
        return self.url_of(NAME)

    @property
    def log(self) -> Path:
        """The server's log, begun anew by a start that finds it above 16 MiB."""
        return self.data_dir / "server.log"

    @property
    def socket_dir(self) -> Path | None:
        """The folder of the Unix socket; None when its path would be too long for one."""
        longest = self.data_dir / ".s.PGSQL.65535.lock"
        return self.data_dir if len(os.fsencode(longest)) <= _SOCKET_PATH_BYTES_MAX else None

    def url_of(self, database: str) -> str:
        """Return the URL of another database of this server."""
        return url_at(self.port, database)

    def is_running(self) -> bool:
        """Tell whether the postmaster is alive."""
        if self._process is not None:
            return self._process.poll() is None
        return self._pid is not None and process_table.is_alive(self._pid)

    def start(self, *, seconds: float = _START_SECONDS) -> None:
        """Make the data folder if need be, start the server and wait until it answers.

        A repeat on a running server does nothing. An interruption leaves a folder that the next
        start uses or replaces, and at worst a server that it adopts.

        Raises:
            PostgresError: another process has it started, it does not start, or it does not
                answer within the seconds; the text ends with the last lines of its log.
        """
        if self.is_running():
            return
        if self._lock is None:
            self._lock = data_folder.lock(self.data_dir)
        try:
            if not self._adopt(seconds):
                programs = self._programs()
                if data_folder.made_with(self.data_dir) is None:
                    data_folder.initialise(self.data_dir, programs, self._account)
                self._launch(programs)
                self._await_answer(seconds)
            self._create_database(seconds)
        except BaseException:
            self.stop()
            raise

    def stop(self, *, seconds: float = _STOP_SECONDS) -> None:
        """Stop fast: sessions are cut, data is flushed. After the seconds it is forced.

        A repeat does nothing. An interruption leaves a server that the next start adopts.
        """
        for request in (signal.SIGINT, signal.SIGQUIT):
            if self.is_running():
                os.kill(self.pid, request)
                self._wait_for_the_end(seconds)
        if self.is_running():
            self.kill()
        self._process = self._pid = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def kill(self) -> None:
        """End the postmaster and its children with SIGKILL, as a power cut would end them.

        The children are killed too, since a busy one outlives its postmaster and keeps the next
        one from starting. The data folder stays ours: `start` recovers it.
        """
        doomed = (self.pid, *process_table.children(self.pid))
        for pid in doomed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # a child that ended since it was listed
                continue
        if self._process is not None:
            self._process.wait()
        while process_table.living().keys() & set(doomed):  # SIGKILL cannot be refused
            sleep(_POLL_SECONDS)
        self._process = self._pid = None

    def restart(self) -> None:
        """Stop, then start on the same port."""
        self.stop()
        self.start()

    def _programs(self) -> Path:
        major = data_folder.made_with(self.data_dir)
        chosen = self._bin_dir or binaries(major)
        if major not in (None, major_version(chosen)):
            raise PostgresError(
                f"{self.data_dir} holds data of PostgreSQL {major}, and {chosen} is "
                f"{major_version(chosen)}: point bin_dir at {major}, or choose another folder"
            )
        return reachable(chosen, self._account, copies=self.data_dir.parent)

    def _adopt(self, seconds: float) -> bool:
        leftover = data_folder.postmaster(self.data_dir)
        if leftover is None:
            return False
        self._pid, self._port = leftover.pid, leftover.port
        try:
            self._await_answer(seconds)
        except PostgresError:
            self._pid = None  # perhaps it is not ours: it must not be stopped
            raise
        return True

    def _launch(self, bin_dir: Path) -> None:
        if self._port is None:
            former = data_folder.former_port(self.data_dir)
            self._port = former if former and is_free(former) else free_port()
        elif not is_free(self._port):
            raise PostgresError(
                f"port {self._port} is taken: choose another one, or stop what listens on it"
            )
        if self.log.exists() and self.log.stat().st_size > _LOG_BYTES_MAX:
            self.log.unlink()
        settings = {
            "port": str(self._port),
            "unix_socket_directories": str(self.socket_dir or ""),
            **self._settings,
        }
        options = [part for item in settings.items() for part in ("-c", "=".join(item))]
        with self.log.open("ab") as log:
            self._log_from = log.tell()
            self._process = self._account.popen(
                [bin_dir / "postgres", "-D", self.data_dir, *options],
                cwd=self.data_dir,
                output=log,
            )
        self._pid = self._process.pid

    def _await_answer(self, seconds: float) -> None:
        deadline = monotonic() + seconds
        while not self._answers():
            if not self.is_running():
                raise PostgresError(
                    f"PostgreSQL stopped while it started; its log ends:\n{self._log_end()}"
                )
            if monotonic() > deadline:
                raise PostgresError(
                    f"PostgreSQL (process {self.pid}) does not answer on port {self.port} "
                    f"after {seconds:.0f} s; its log ends:\n{self._log_end()}"
                )
            sleep(_POLL_SECONDS)

    def _answers(self) -> bool:
        """Tell whether the server on our port answers, and is the one of our folder."""
        try:
            with self._connect() as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.OperationalError:  # not yet, or another server
            return False
        return row == (str(self.data_dir),)

    def _create_database(self, seconds: float) -> None:
        """Make the database `fairlead` unless a start before this one did."""
        query = "SELECT FROM pg_database WHERE datname = %s"
        try:  # it has answered, so if it is slow now, the machine has much else to do
            with self._connect(max(2, int(seconds))) as connection:
                if connection.execute(query, [NAME]).fetchone() is None:
                    connection.execute(f"CREATE DATABASE {NAME}")
        except psycopg.OperationalError as error:
            raise PostgresError(
                f"PostgreSQL answers no more after its start: {error}; "
                f"its log ends:\n{self._log_end()}"
            ) from None

    def _connect(self, seconds: int = 2) -> psycopg.Connection[tuple[object, ...]]:
        url = self.url_of("postgres")
        return psycopg.connect(url, autocommit=True, connect_timeout=seconds)

    def _log_end(self) -> str:
        return data_folder.log_end(self.log, since=self._log_from)

    def _wait_for_the_end(self, seconds: float) -> None:
        deadline = monotonic() + seconds
        while self.is_running() and monotonic() < deadline:
            sleep(_POLL_SECONDS)
