"""Schedulers and a worker on a database of their own, fed with the jobs of a trace.

Jobs of the start are inserted before any process runs; the clock starts when the worker has
registered. From then on each job is inserted at its time.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psycopg

from bench.fairlead_contender import PYTHONPATH, FairleadContender
from bench.processes import Child, start, wait_until
from bench.server import Server
from fairlead_scheduler.simulation.trace import Arrival

_DATABASE = "fairness"
_BATCH = 1000
_PAUSE_SECONDS = 0.002
_INSERT = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select queue, tenant, 'sleep', payload
from unnest(%s::text[], %s::text[], %s::jsonb[]) as new (queue, tenant, payload)
"""
_DISPATCHED = b"select exists (select from fairlead.work_queue)"
_REGISTERED = b"select (extract(epoch from clock_timestamp()) * 1e6)::bigint, count(*)\
 from fairlead.workers"


@dataclass(slots=True, kw_only=True)
class Fleet:
    """The running processes, their database, and its time when the worker registered."""

    connection: psycopg.Connection
    dsn: str
    folder: Path
    begun_us: int = 0
    children: list[Child] = field(default_factory=list[Child])

    def schedule(self, name: str = "scheduler", *, health_port: int | None = None) -> Child:
        """Start a scheduler; a second one is a standby."""
        port = {} if health_port is None else {"FAIRLEAD_HEALTH_PORT": str(health_port)}
        return self._start(name, "fairlead-scheduler", [], port)

    def work(self, slots: int) -> Child:
        """Start the worker."""
        app = ["--app", "fairness_app:tasks", "--concurrency", str(slots)]
        return self._start("worker", "fairlead-worker", app)

    def lose(self, child: Child) -> None:
        """Kill a process that is no longer needed."""
        child.kill()
        self.children.remove(child)

    def check(self) -> None:
        """Raise BrokenRunError if a process has ended."""
        for child in self.children:
            child.check()

    def _start(
        self,
        name: str,
        command: str,
        arguments: Sequence[str],
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Child:
        environment = {
            "FAIRLEAD_DATABASE_URL": self.dsn,
            "PYTHONPATH": PYTHONPATH,
            **settings,
        }
        argv = [str(Path(sys.executable).parent / command), *arguments]
        log = self.folder / f"{name}.log"
        child = start(name, argv, log=log, environment=environment, folder=self.folder)
        self.children.append(child)
        return child


@contextmanager
def database(
    server: Server, name: str = _DATABASE
) -> Generator[tuple[psycopg.Connection, str]]:
    """Create a database with Fairlead's schema; drop it at the end."""
    dsn = server.create_database(name)
    FairleadContender().install(dsn)
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        yield connection, dsn
    server.drop_database(name)


def fill(connection: psycopg.Connection, trace: Sequence[Arrival]) -> int:
    """Insert the jobs of the start and return their number."""
    there = sum(job.at_us == 0 for job in trace)
    for first in range(0, there, _BATCH):
        insert(connection, trace, first, min(there, first + _BATCH))
    connection.execute("analyze")
    return there


@contextmanager
def running(
    connection: psycopg.Connection,
    dsn: str,
    *,
    slots: int,
    schedulers: int = 1,
    health_port: int | None = None,
) -> Generator[Fleet]:
    """Run schedulers, then a worker; at the end kill all of them, with their jobs.

    With a port the first scheduler serves its metrics there.
    """
    with tempfile.TemporaryDirectory(prefix="bench-fairness-") as name:
        fleet = Fleet(connection=connection, dsn=dsn, folder=Path(name))
        try:
            fleet.schedule(health_port=health_port)
            for number in range(1, schedulers):
                fleet.schedule(f"scheduler-{number}")
            if one(connection, b"select exists (select from fairlead.jobs)")[0]:
                wait_until(
                    "the first jobs are dispatched",
                    lambda: bool(one(connection, _DISPATCHED)[0]),
                    watching=fleet.children,
                )
            fleet.work(slots)
            wait_until(
                "the worker registers",
                lambda: bool(one(connection, _REGISTERED)[1]),
                watching=fleet.children,
            )
            fleet.begun_us = int(str(one(connection, _REGISTERED)[0]))
            yield fleet
        finally:
            for child in reversed(fleet.children):
                child.kill()


def one(connection: psycopg.Connection, query: bytes) -> tuple[object, ...]:
    """Return the first row of a query that has one."""
    row = connection.execute(query).fetchone()
    assert row is not None
    return tuple(row)


def feed(
    connection: psycopg.Connection,
    trace: Sequence[Arrival],
    first: int,
    until_us: int,
    act: Callable[[float], None],
) -> None:
    """Insert each job at its time, until the time is over.

    `act` is called every few milliseconds with the time since the start, in microseconds.
    """
    begun = time.monotonic()
    place = first
    while (now_us := (time.monotonic() - begun) * 1e6) < until_us:
        act(now_us)
        due = place
        while due < len(trace) and due < place + _BATCH and trace[due].at_us <= now_us:
            due += 1
        if due > place:
            insert(connection, trace, place, due)
            place = due
        else:
            time.sleep(_PAUSE_SECONDS)


def insert(
    connection: psycopg.Connection, trace: Sequence[Arrival], first: int, end: int
) -> None:
    """Insert a range of the trace's jobs; each carries its index."""
    jobs = trace[first:end]
    payloads = [
        json.dumps({"n": number, "seconds": job.cost_us / 1e6})
        for number, job in enumerate(jobs, first)
    ]
    columns = ([job.queue for job in jobs], [job.tenant for job in jobs], payloads)
    connection.execute(_INSERT, columns)
