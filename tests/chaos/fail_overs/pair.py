"""A primary and its standby at two addresses that stay, while the servers change places.

A server that was killed is thrown away, and the promoted one gets a new standby, copied from
itself. One that was shut down follows its successor with the data that it has.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.account import account, reachable
from fairlead_cli.dev.binaries import binaries
from fairlead_cli.dev.ports import free_port
from fairlead_cli.dev.postgres import NAME, Server
from tests.support.databases import fast_folder
from tests.support.leftovers import FOLDER
from tests.support.waiting import until

_SETTINGS = {
    "dynamic_shared_memory_type": "mmap",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_keep_size": "128MB",
    "wal_retrieve_retry_interval": "100ms",
}
"""Everything that makes a commit durable is as it is by default."""
_STREAMS = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')"
_WAITS = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')"
_RECEIVER = "SELECT pid FROM pg_stat_wal_receiver"
_RECEIVED = "SELECT (pg_last_wal_receive_lsn() - '0/0'::pg_lsn)::bigint"
_RECOVERS = "SELECT pg_is_in_recovery()"
_SECONDS = 60.0


class Pair:
    """The two servers; see `paired`.

    Args:
        folder: for their data.
        synchronous: whether a commit waits until the standby has it on its disk.
    """

    def __init__(self, folder: Path, *, synchronous: bool) -> None:
        version = os.environ.get("FAIRLEAD_TEST_POSTGRES")
        self._folder = folder
        self._synchronous = synchronous
        self._programs = reachable(
            binaries(int(version) if version else None), account(), copies=folder
        )
        self._numbers = count(1)
        self._ports = [free_port(), free_port()]
        self.primary = self._server(self._ports[0])
        self.standby: Server | None = None
        self.primary.start()

    @property
    def url(self) -> str:
        """Leads to whichever of the two accepts writes."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self._ports)
        return f"postgresql://{NAME}@{hosts}/{NAME}?target_session_attrs=read-write"

    @property
    def follower(self) -> Server:
        """The standby, which there has to be."""
        assert self.standby is not None
        return self.standby

    def connect(self) -> Connection[TupleRow]:
        """Open a session on the primary."""
        return psycopg.connect(self.primary.url, autocommit=True)

    def follow(self, *, former: Server | None = None) -> None:
        """Give the primary a standby: the server that was shut down, or a copy of itself.

        Where commits are to wait for it, they do when this returns.
        """
        port = next(each for each in self._ports if each != self.primary.port)
        if former is None:
            former = self._server(port)
            self._copy(former.data_dir)
        else:
            self._subordinate(former.data_dir)
        former.start()
        self.standby = former
        with self.connect() as db:
            until(
                lambda: db.execute(_STREAMS).fetchone() == (True,),
                what="a standby",
                seconds=_SECONDS,
            )
            if self._synchronous:
                db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                db.execute("SELECT pg_reload_conf()")
                self._await_waiting(db)

    def cut(self) -> int:
        """Have the standby receive nothing more; return the place up to which it has all."""
        with psycopg.connect(self.follower.url, autocommit=True) as db:
            db.execute("ALTER SYSTEM SET primary_conninfo = ''")
            db.execute("SELECT pg_reload_conf()")
            until(lambda: db.execute(_RECEIVER).fetchone() is None, what="a standby cut off")
            row = db.execute(_RECEIVED).fetchone()
        assert row is not None
        return int(row[0])

    def promote(self) -> Server:
        """Make the standby the primary; return the former one, which no longer runs."""
        former, self.primary, self.standby = self.primary, self.follower, None
        assert not former.is_running()
        with self.connect() as db:
            assert (True,) == db.execute("SELECT pg_promote(true, 60)").fetchone()
            assert (False,) == db.execute(_RECOVERS).fetchone()
        return former

    def discard(self, former: Server) -> None:
        """Remove a server that was killed."""
        former.stop()
        shutil.rmtree(former.data_dir)

    def end(self) -> None:
        """Stop both."""
        for server in (self.standby, self.primary):
            if server is not None:
                server.stop()

    def _server(self, port: int) -> Server:
        folder = self._folder / f"pg-{next(self._numbers)}"
        return Server(folder, bin_dir=self._programs, port=port, settings=_SETTINGS)

    def _copy(self, target: Path) -> None:
        target.mkdir(mode=0o700)
        account().own(target)
        source = self.primary.url_of("postgres")
        options = ["--checkpoint", "fast", "--write-recovery-conf", "--no-sync"]
        program = self._programs / "pg_basebackup"
        command: list[str | Path] = [program, "--pgdata", target, "--dbname", source, *options]
        process = account().popen(command, cwd=target, output=subprocess.PIPE)
        said, _ = process.communicate()
        assert process.returncode == 0, said.decode(errors="replace")

    def _subordinate(self, data: Path) -> None:
        (data / "standby.signal").touch()
        with (data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"primary_conninfo = '{self.primary.url_of('postgres')}'\n")

    def _await_waiting(self, db: Connection[TupleRow]) -> None:
        """Hold the standby until a commit waits: before one has, none may be bound to."""
        with psycopg.connect(self.follower.url, autocommit=True) as standby:
            row = standby.execute(_RECEIVER).fetchone()
        assert row is not None
        os.kill(row[0], signal.SIGSTOP)
        try:
            until(lambda: db.execute(_WAITS).fetchone() == (True,), what="a commit that waits")
        finally:
            os.kill(row[0], signal.SIGCONT)


@contextmanager
def paired(*, synchronous: bool, keep: list[str]) -> Generator[Pair]:
    """Yield a migrated primary without a standby; remove both servers at the end.

    Args:
        synchronous: whether a commit waits for the standby.
        keep: if it has something in it at the end, the data stays.
    """
    folder = Path(tempfile.mkdtemp(prefix=FOLDER, dir=fast_folder()))
    folder.chmod(0o755)  # run by root, the server has another user, which must get in
    pair = Pair(folder, synchronous=synchronous)
    try:
        with pair.connect() as db:
            migrate(db)
        yield pair
    finally:
        pair.end()
        if not keep:
            shutil.rmtree(folder)
