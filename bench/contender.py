"""What the harness needs of every contender: tables, jobs, workers, and when it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.machine import ROOT
from bench.probe import FOLDER_VARIABLE, ProbeFolder
from bench.processes import Child, run, start

Settings = Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Running workers and their helpers, and the probes that their handlers fill."""

    children: tuple[Child, ...]
    probes: ProbeFolder

    def stop(self) -> None:
        """Stop every process, the last started first."""
        for child in reversed(self.children):
            child.stop()


class Contender(Protocol):
    """One queue under test."""

    @property
    def name(self) -> str:
        """Return the name that tables and results show."""
        ...

    @property
    def drain_jobs(self) -> int:
        """Return how many jobs one worker drains in a few seconds."""
        ...

    @property
    def unfinished(self) -> str:
        """Return a query for whether any job is unfinished."""
        ...

    @property
    def settings(self) -> Settings:
        """Return the tuned settings that a run records."""
        ...

    def install(self, dsn: str) -> None:
        """Make the contender's tables in an empty database."""
        ...

    def enqueue(self, dsn: str, jobs: int, batch: int) -> float:
        """Enqueue jobs in batches; return the seconds that it took."""
        ...

    def start(self, dsn: str, *, workers: int, folder: Path, stamps: bool) -> Fleet:
        """Start `workers` worker processes; with `stamps`, handlers record when they start."""
        ...

    def ping(self, dsn: str, jobs: int, interval_seconds: float) -> tuple[int, ...]:
        """Enqueue one job per interval; return the monotonic time of each commit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerContender:
    """A peer, driven by its script in `bench/peers` with the peers' Python.

    `idle_settings` replace some of the settings where latency is measured, for a knob that
    serves throughput at the cost of latency.
    """

    name: str
    drain_jobs: int
    unfinished: str
    settings: Settings
    idle_settings: Settings
    python: Path

    def _argv(self, command: str, dsn: str, *more: str) -> list[str]:
        return [
            str(self.python),
            "-m",
            f"bench.peers.{self.name}_peer",
            command,
            "--dsn",
            dsn,
            *more,
        ]

    @property
    def _environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(ROOT)}

    def _run(self, argv: Sequence[str]) -> str:
        return run(argv, environment=self._environment, folder=ROOT)

    def install(self, dsn: str) -> None:
        """Make the peer's tables."""
        self._run(self._argv("install", dsn))

    def enqueue(self, dsn: str, jobs: int, batch: int) -> float:
        """Enqueue through the peer's public API."""
        argv = self._argv("enqueue", dsn, "--jobs", str(jobs), "--batch", str(batch))
        seconds: float = json.loads(self._run(argv))["seconds"]
        return seconds

    def start(self, dsn: str, *, workers: int, folder: Path, stamps: bool) -> Fleet:
        """Start the peer's workers, one process each."""
        probes = ProbeFolder(folder / "probes")
        chosen = {**self.settings, **self.idle_settings} if stamps else self.settings
        settings = json.dumps({**chosen, "stamps": int(stamps)})
        argv = self._argv("work", dsn, "--settings", settings)
        environment = {**self._environment, FOLDER_VARIABLE: str(probes.path)}
        children = tuple(
            start(
                f"{self.name} worker {number}",
                argv,
                log=folder / f"worker-{number}.log",
                environment=environment,
                folder=ROOT,
            )
            for number in range(workers)
        )
        return Fleet(children=children, probes=probes)

    def ping(self, dsn: str, jobs: int, interval_seconds: float) -> tuple[int, ...]:
        """Enqueue one job per interval through the peer's public API."""
        argv = self._argv("ping", dsn, "--jobs", str(jobs), "--interval", str(interval_seconds))
        committed: list[int] = json.loads(self._run(argv))["committed_ns"]
        return tuple(committed)
