"""The floors as contenders, so that they run in the same rounds as all others."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from bench import plain_sql
from bench.contender import Fleet, Settings
from bench.machine import ROOT
from bench.probe import FOLDER_VARIABLE, ProbeFolder
from bench.processes import run, start

DRAIN_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorContender:
    """One floor: a table to insert into, helpers to start first, and the role that claims."""

    name: str
    drain_jobs: int
    table: str
    helpers: tuple[str, ...]
    claimer: str
    settings: Settings = field(default_factory=lambda: {"batch": DRAIN_BATCH})

    @property
    def unfinished(self) -> str:
        """Return a query for whether any row is left."""
        return f"select exists (select from {self.table})"

    @property
    def _insert(self) -> str:
        return f"insert into {self.table} (payload) select unnest(%s::jsonb[])"

    def install(self, dsn: str) -> None:
        """Make the floors' tables; a floor that drains sends no notifications."""
        argv = [sys.executable, "-m", "bench.floors.script", "install", "--dsn", dsn]
        waking = [] if self.drain_jobs else ["--waking"]
        run([*argv, "--table", self.table, *waking], folder=ROOT)

    def enqueue(self, dsn: str, jobs: int, batch: int) -> float:
        """Insert into the floor's table."""
        return plain_sql.enqueue(dsn, self._insert, jobs=jobs, batch=batch)

    def start(self, dsn: str, *, workers: int, folder: Path, stamps: bool) -> Fleet:
        """Start the helpers, then the claimers; a floor's role decides about stamps."""
        del stamps
        probes = ProbeFolder(folder / "probes")
        roles = [*self.helpers, *[self.claimer] * workers]
        argv = [sys.executable, "-m", "bench.floors.script", "work", "--dsn", dsn]
        children = tuple(
            start(
                f"{self.name} {role}",
                [*argv, "--role", role, "--batch", str(self.settings["batch"])],
                log=folder / f"{number}-{role}.log",
                environment={FOLDER_VARIABLE: str(probes.path)},
                folder=ROOT,
            )
            for number, role in enumerate(roles)
        )
        return Fleet(children=children, probes=probes)

    def ping(self, dsn: str, jobs: int, interval_seconds: float) -> tuple[int, ...]:
        """Insert one row per interval."""
        return plain_sql.ping(dsn, self._insert, jobs=jobs, interval_seconds=interval_seconds)


ONE_HOP = FloorContender(
    name="floor_one_hop", drain_jobs=0, table="floor_bare", helpers=(), claimer="one-hop"
)
TWO_HOP = FloorContender(
    name="floor_two_hop",
    drain_jobs=0,
    table="floor_jobs",
    helpers=("dispatch",),
    claimer="claim",
)
TWO_STAGE = FloorContender(
    name="floor_two_stage",
    drain_jobs=60_000,
    table="floor_jobs",
    helpers=("drain-dispatch",),
    claimer="drain-claim",
)
