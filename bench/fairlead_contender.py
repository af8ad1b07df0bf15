"""Fairlead as a contender: its public commands and its SQL, no internals."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench import plain_sql
from bench.contender import Fleet, Settings
from bench.machine import ROOT
from bench.probe import FOLDER_VARIABLE, ProbeFolder
from bench.processes import Child, start
from fairlead import policy_storage
from fairlead.db.migrate import migrate

_COMMANDS = Path(sys.executable).parent
SCHEDULER = (str(_COMMANDS / "fairlead-scheduler"),)
WORKER = (str(_COMMANDS / "fairlead-worker"),)
_ROOMS = (ROOT / room for room in ("bench/app", ".", "core", "worker", "scheduler", "console"))
PYTHONPATH = os.pathsep.join(map(str, _ROOMS))
"""This checkout is measured, whichever one the environment was made from."""
APP = "bench_app:tasks"
INSERT = "insert into fairlead.jobs (kind, payload) select 'bench', unnest(%s::jsonb[])"
_INSERT_OF_TENANTS = (
    "insert into fairlead.jobs (tenant, kind, payload)"
    " select 'tenant-' || floor(random() * {tenants})::int, 'bench', unnest(%s::jsonb[])"
)
INSERT_STAMPED = INSERT.replace("'bench'", "'stamp'")


@dataclass(frozen=True, slots=True, kw_only=True)
class FairleadContender:
    """The scheduler and one worker with the requested number of handler processes."""

    name: str = "fairlead"
    drain_jobs: int = 80_000
    unfinished: str = "select exists (select from fairlead.jobs)"
    settings: Settings = field(default_factory=lambda: {"concurrency": 200})
    policy: str = ""
    """The document in force; without one all tenants have equal weights and no limit."""
    tenants: int = 1
    """Number of tenants, chosen at random for each job; 1: no tenant."""
    scheduler: tuple[str, ...] = SCHEDULER
    worker: tuple[str, ...] = WORKER
    """The commands of the two, with their flags."""

    @property
    def insert(self) -> str:
        """Return the statement that inserts an array of payloads."""
        if self.tenants == 1:
            return INSERT
        return _INSERT_OF_TENANTS.format(tenants=self.tenants)

    def install(self, dsn: str) -> None:
        """Migrate an empty database, and put the policy in force."""
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
            if self.policy:
                policy_storage.store(connection, self.policy, author="bench")

    def enqueue(self, dsn: str, jobs: int, batch: int) -> float:
        """Insert rows, as any application would."""
        return plain_sql.enqueue(dsn, self.insert, jobs=jobs, batch=batch)

    def _start(self, name: str, argv: list[str], dsn: str, folder: Path) -> Child:
        environment = {
            "FAIRLEAD_DATABASE_URL": dsn,
            "PYTHONPATH": PYTHONPATH,
            FOLDER_VARIABLE: str(folder / "probes"),
        }
        return start(
            name, argv, log=folder / f"{name}.log", environment=environment, folder=folder
        )

    def start_scheduler(
        self, dsn: str, folder: Path, command: Sequence[str] = SCHEDULER
    ) -> Child:
        """Start one scheduler, or the program that is to lead in its place."""
        return self._start("scheduler", list(command), dsn, folder)

    def start_worker(
        self, dsn: str, folder: Path, *, processes: int = 1, name: str = "worker"
    ) -> Child:
        """Start one worker parent with `processes` children."""
        argv = [*self.worker, "--app", APP, "--pool", "default"]
        concurrency = str(self.settings["concurrency"])
        argv += ["--concurrency", concurrency, "--processes", str(processes)]
        return self._start(name, argv, dsn, folder)

    def start_console(self, dsn: str, folder: Path) -> Child:
        """Start a console on a free port of loopback, which its log says."""
        argv = [str(_COMMANDS / "fairlead-console"), "--port", "0"]
        return self._start("console", argv, dsn, folder)

    def start(self, dsn: str, *, workers: int, folder: Path, stamps: bool) -> Fleet:
        """Start the scheduler, then one worker; `stamps` is decided by the job's kind."""
        del stamps
        probes = ProbeFolder(folder / "probes")
        scheduler = self.start_scheduler(dsn, folder, self.scheduler)
        worker = self.start_worker(dsn, folder, processes=workers)
        return Fleet(children=(scheduler, worker), probes=probes)

    def ping(self, dsn: str, jobs: int, interval_seconds: float) -> tuple[int, ...]:
        """Insert one row per interval, of the kind that leaves its start time."""
        return plain_sql.ping(dsn, INSERT_STAMPED, jobs=jobs, interval_seconds=interval_seconds)
