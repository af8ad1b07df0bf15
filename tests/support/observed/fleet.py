"""Start the observed fleet: every process, its page, and the Prometheus that scrapes them."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from fairlead.db.connect import connect
from fairlead.db.statements import load
from fairlead.policy_storage import store
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev.fleet import Fleet, Program, Say
from fairlead_cli.dev.ports import free_port
from fairlead_cli.dev.postgres import Server
from fairlead_cli.dev.running import install
from tests.support import tree
from tests.support.observed import schedule, targets
from tests.support.observed.prometheus import Prometheus
from tests.support.observed.targets import Target

AUTOSCALER = "autoscaler"
LOAD = "load"
_HERE = "127.0.0.1"
_STOP_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of the fleet, and the settings of its programs."""

    schedulers: int = 2
    workers: tuple[int, int] = (1, 3)
    """The least and the most."""
    load: bool = True
    """Whether jobs are inserted."""
    policy: str | None = None
    """The policy without its pools; None: some of everything."""
    rules: Sequence[Path] = ()
    """Files of rules for Prometheus."""
    every_seconds: float = 1.0
    """The interval of scrapes and of rule evaluations."""
    server: Mapping[str, str] = field(default_factory=dict[str, str])
    """PostgreSQL's settings."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables of every program."""


class Observed:
    """A fleet with its Prometheus, which run while it is entered.

    Args:
        folder: For all files; the server's account must be able to enter it.
        shape: The size of the fleet.
        say: Called with a program's name and each line that it writes.
    """

    fleet: Fleet
    """Its programs, without the workers, which the autoscaler owns."""
    prometheus: Prometheus
    """The Prometheus that scrapes them."""

    def __init__(self, folder: Path, shape: Shape, say: Say) -> None:
        self._folder = folder
        self._shape = shape
        self._say = say
        self._leaving = ExitStack()
        self._ports: dict[str, int] = {}
        self._programs: dict[str, Program] = {}
        self.server = Server(folder / "postgres", settings=shape.server)
        self.pages = folder / "targets"
        """The folder of the files of targets."""

    def __enter__(self) -> Self:
        with ExitStack() as entering:
            self._begin(entering)
            self._leaving = entering.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving.close()

    @property
    def url(self) -> str:
        """The database's URL, as its superuser."""
        return self.server.url

    def targets(self) -> tuple[Target, ...]:
        """Return the pages of all programs; workers come and go."""
        fixed = tuple(self._target(name) for name in self._ports)
        return (*fixed, *targets.read(self._workers))

    def leader(self) -> str | None:
        """Return the leader's name; None: there is none, or it is not of this fleet."""
        settings = DatabaseSettings(database_url=self.url, database_url_file=None)
        with connect(settings, name="observe") as own:
            row = own.execute(load("tests.support.observed", "leader")).fetchone()
        pids = {self.fleet.pid(name): name for name in self.fleet.names()}
        return None if row is None else pids.get(int(str(row[0]).split(":")[1]))

    def look(self) -> None:
        """Restart programs that died; call it a few times a second."""
        if self.fleet.revive():
            self._write()

    def start(self, name: str) -> None:
        """Start a dead program again, with the same name and port."""
        self.fleet.start(self._programs[name])
        self._write()

    def _begin(self, entering: ExitStack) -> None:
        self.pages.mkdir()
        (self._folder / "prometheus").mkdir()
        entering.enter_context(self.server)
        install(self.url)
        self._apply(schedule.policy(*self._shape.workers, self._shape.policy))
        self.fleet = Fleet(
            environment={
                "FAIRLEAD_DATABASE_URL": self.url,
                "FAIRLEAD_HEALTH_HOST": _HERE,
                "FAIRLEAD_LOG_FORMAT": "json",
                **self._shape.environment,
            },
            say=self._say,
            folder=tree.ROOT,  # where programs find tests.support.observed
        )
        entering.callback(self._end)
        for program in self._made():
            self._programs[program.name] = program
            self.fleet.start(program)
        self._write()
        self.prometheus = entering.enter_context(
            Prometheus(
                self._folder / "prometheus",
                targets=self.pages,
                rules=self._shape.rules,
                every_seconds=self._shape.every_seconds,
            )
        )

    def _made(self) -> list[Program]:
        shape = self._shape
        names = [f"scheduler-{number}" for number in range(1, shape.schedulers + 1)]
        schedulers = [
            Program(name, "fairlead_scheduler.main", (), self._page(name)) for name in names
        ]
        flags = ("--targets", str(self._workers), "--replicas", str(shape.workers[0]))
        pods = "tests.support.observed.pods"
        autoscaler = Program(AUTOSCALER, pods, flags, self._page(AUTOSCALER))
        inserting = [Program(LOAD, "tests.support.observed.load")] if shape.load else []
        return [*schedulers, autoscaler, *inserting]

    @property
    def _workers(self) -> Path:
        return self.pages / "workers.json"

    def _page(self, name: str) -> Mapping[str, str]:
        self._ports[name] = free_port()
        return {"FAIRLEAD_HEALTH_PORT": str(self._ports[name])}

    def _target(self, name: str) -> Target:
        container = AUTOSCALER if name == AUTOSCALER else "scheduler"
        pid = self.fleet.pid(name) if name in self.fleet.names() else 0
        return Target(name, container, self._ports[name], pid)

    def _write(self) -> None:
        targets.write(self.pages / "fixed.json", [self._target(name) for name in self._ports])

    def _apply(self, document: str) -> None:
        settings = DatabaseSettings(database_url=self.url, database_url_file=None)
        with connect(settings, name="observe") as own:
            store(own, document, author=f"observe:{os.getpid()}")

    def _end(self) -> None:
        """Stop the load, then the autoscaler with its workers, then the schedulers."""
        names = self.fleet.names()
        first = [name for name in (LOAD, AUTOSCALER) if name in names]
        self.fleet.end(first, seconds=_STOP_SECONDS)
        self.fleet.end(self.fleet.names(), seconds=_STOP_SECONDS)
