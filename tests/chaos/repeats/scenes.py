"""Where faults happen: a server, two schedulers, two workers and an application's orders.

The scenes differ in what is between them and the server, and in what the server has.
"""

import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import time

import psycopg
from psycopg.errors import OperationalError

from fairlead.db.migrate import migrate
from fairlead_cli.dev.postgres import Server
from tests.chaos import disks, memory, networks
from tests.chaos.disks import Disk, mounted
from tests.chaos.fail_overs.series import SHIPPED
from tests.chaos.fleet import Fleet, Program, fleet
from tests.chaos.memory import Confined, confined
from tests.chaos.networks import Network, networked
from tests.chaos.wall_clocks import COMPILER, WallClock
from tests.support import pgbouncer
from tests.support.databases import fast_folder, running_server
from tests.support.leftovers import FOLDER
from tests.support.pgbouncer import Pooler, pooling
from tests.support.waiting import until

_START_SECONDS = 60.0
_DISK_MIB, _MEMORY_MIB, _POOLED = 384, 512, 24
_RESERVED = 12
"""Connections of the superuser, who judges."""
_CROWDED = 64
_SMALL_LOG = {"max_wal_size": "64MB", "min_wal_size": "32MB"}
_FEW = {
    "max_connections": str(_CROWDED),
    "superuser_reserved_connections": str(_RESERVED),
}


@dataclass(slots=True)
class Scene:
    """What faults may be done to."""

    server: Server
    fleet: Fleet
    orders_url: str
    """By way of which orders are placed."""
    programs_url: str
    """By way of which the programs go."""
    network: Network | None = None
    """Between the server and the first scheduler and worker: the first node."""
    pooler: Pooler | None = None
    disk: Disk | None = None
    memory: Confined | None = None
    """Of the first worker."""
    clock: WallClock | None = None
    """Of the first scheduler and worker."""
    schedulers: list[Program] = field(default_factory=list[Program])
    workers: list[Program] = field(default_factory=list[Program])
    started: int = 0

    def begin(self) -> None:
        """Start every program."""
        for first in (True, False):
            self.schedulers.append(self.scheduler(first=first))
            self.workers.append(self.worker(first=first))
        self.leader()

    def scheduler(self, *, first: bool) -> Program:
        """Start a scheduler, of the first node or of the other one."""
        self.started += 1
        with self._place(first=first):
            return self.fleet.scheduler(f"scheduler-{self.started}", url=self._way(first=first))

    def worker(self, *, first: bool) -> Program:
        """Start a worker, of the first node or of the other one."""
        self.started += 1
        url = self.fleet.url
        self.fleet.url = self._way(first=first)
        try:
            with self._place(first=first, confined=True):
                more = "--grace-seconds 1"
                return self.fleet.worker(f"worker-{self.started}", concurrency=8, more=more)
        finally:
            self.fleet.url = url

    def replace(self, program: Program) -> None:
        """Start another program where one has ended."""
        programs = self.workers if program in self.workers else self.schedulers
        place = programs.index(program)
        start = self.worker if programs is self.workers else self.scheduler
        programs[place] = start(first=place == 0)

    def leader(self) -> Program:
        """Return the leader, once there is one."""

        def found() -> Program | None:
            try:
                pid = self.fleet.leader_pid()
            except OperationalError:
                return None
            return next((each for each in self.schedulers if each.pid == pid), None)

        return until(found, what="a leader", seconds=_START_SECONDS)

    def answers(self) -> float:
        """Wait until the server takes writes; return when."""

        def written() -> bool:
            try:
                with self.fleet.connect() as db:
                    db.execute("CREATE TEMPORARY TABLE room (is_there boolean)")
            except psycopg.Error:
                return False
            return True

        until(written, what="an answer of the server", seconds=_START_SECONDS)
        return time()

    def _way(self, *, first: bool) -> str:
        if self.network is not None and first:
            return self.programs_url
        return self.fleet.url if self.network is not None else self.programs_url

    @contextmanager
    def _place(self, *, first: bool, confined: bool = False) -> Generator[None]:
        """Start programs within the block where those of a node are."""
        within: Sequence[str] = ()
        if first and self.network is not None:
            within = self.network.within
        if first and confined and self.memory is not None:
            within = self.memory.within
        environment = self.fleet.environment
        if first and self.clock is not None:
            self.fleet.environment = {**environment, **self.clock.environment()}
        self.fleet.within = within
        try:
            yield
        finally:
            self.fleet.within, self.fleet.environment = (), environment


Make = Callable[[ExitStack, Path], Scene]


def _server(
    opened: ExitStack, settings: dict[str, str], *, within: Path | None = None
) -> Server:
    folder = fast_folder() if within is None else within
    server = opened.enter_context(running_server(settings, within=folder))
    with psycopg.connect(server.url, autocommit=True) as db:
        migrate(db)
    return server


def _scene(
    opened: ExitStack, folder: Path, server: Server, environment: dict[str, str] | None = None
) -> Scene:
    settings = {**SHIPPED, **(environment or {})}
    made = opened.enter_context(fleet(server.url, folder, settings))
    return Scene(server, made, server.url, server.url)


def plain(opened: ExitStack, folder: Path) -> Scene:
    """Nothing is between them, and the server has everything."""
    return _scene(opened, folder, _server(opened, {}))


def clocked(opened: ExitStack, folder: Path) -> Scene:
    """The first node has a clock of its own."""
    scene = plain(opened, folder)
    scene.clock = WallClock(folder / "clock")
    scene.clock.set(0)
    return scene


def wired(opened: ExitStack, folder: Path) -> Scene:
    """A wire is between the first node and the server."""
    network = opened.enter_context(networked())
    rules = opened.enter_context(tempfile.TemporaryDirectory(prefix=FOLDER))
    Path(rules).chmod(0o755)  # the server has another user, which reads it
    allowed = Path(rules) / "hba"
    allowed.write_text(
        "local all all trust\nhost all all 127.0.0.1/32 trust\n"
        f"host all all {network.here}/30 trust\n"
    )
    listens = f"127.0.0.1,{network.here}"
    server = _server(opened, {"listen_addresses": listens, "hba_file": str(allowed)})
    scene = _scene(opened, folder, server)
    scene.network = network
    scene.programs_url = server.url.replace("127.0.0.1", network.here)
    return scene


def pooled(opened: ExitStack, folder: Path) -> Scene:
    """PgBouncer is between the programs and the server."""
    server = _server(opened, {})
    pooler = opened.enter_context(pooling(server.url, sessions=_POOLED))
    scene = _scene(opened, folder, server, {"FAIRLEAD_DATABASE_DIRECT": "false"})
    scene.pooler, scene.programs_url = pooler, pooler.url
    return scene


def cramped(opened: ExitStack, folder: Path) -> Scene:
    """The server has a small disk."""
    disk = opened.enter_context(mounted(_DISK_MIB))
    scene = _scene(opened, folder, _server(opened, _SMALL_LOG, within=disk.folder))
    scene.disk = disk
    return scene


def tight(opened: ExitStack, folder: Path) -> Scene:
    """The first worker has little memory."""
    group = opened.enter_context(confined(_MEMORY_MIB))
    scene = plain(opened, folder)
    opened.callback(scene.fleet.end)
    scene.memory = group
    return scene


def crowded(opened: ExitStack, folder: Path) -> Scene:
    """The server has room for few connections."""
    server = _server(opened, _FEW)
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("CREATE ROLE app LOGIN IN ROLE fairlead_scheduler, fairlead_worker")
        db.execute("GRANT fairlead_enqueue TO app")
        # What the tests have the server note is noted in the session of whoever changes it.
        db.execute("GRANT EXECUTE ON FUNCTION fairlead._timeline() TO app")
        db.execute("GRANT ALL ON SCHEMA public TO app")
        db.execute("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO app")
        db.execute("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON SEQUENCES TO app")
    scene = _scene(opened, folder, server)
    scene.programs_url = server.url.replace("//fairlead@", "//app@")
    scene.orders_url = scene.programs_url
    return scene


SCENES: dict[str, Make] = {
    make.__name__: make for make in (plain, clocked, wired, pooled, cramped, tight, crowded)
}


def lacking(name: str) -> str | None:
    """Return what is missing for a scene, or None."""
    if name == "wired":
        return networks.lacking_for_worse()
    if name == "pooled" and pgbouncer.program() is None:
        return "needs PgBouncer (Debian: pgbouncer)"
    if name == "cramped":
        return disks.lacking()
    if name == "tight":
        return memory.lacking()
    if name == "clocked" and COMPILER is None:
        return "needs a C compiler, cc"
    return None


@contextmanager
def opened(name: str) -> Generator[Scene]:
    """Yield a scene without programs, and end it; its logs go with it."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER))
    try:
        with ExitStack() as stack:
            yield SCENES[name](stack, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
