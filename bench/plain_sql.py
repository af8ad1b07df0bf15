"""Run the producer's commands and read what they print."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.machine import ROOT
from bench.processes import Child, run, start

_PRODUCER = (sys.executable, "-m", "bench.producer")


def enqueue(dsn: str, insert: str, *, jobs: int, batch: int) -> float:
    """Insert jobs in batches with a statement that takes an array; return the seconds."""
    argv = [*_PRODUCER, "enqueue", "--dsn", dsn, "--insert", insert]
    out = run([*argv, "--jobs", str(jobs), "--batch", str(batch)], folder=ROOT)
    seconds: float = json.loads(out)["seconds"]
    return seconds


def ping(dsn: str, insert: str, *, jobs: int, interval_seconds: float) -> tuple[int, ...]:
    """Insert one job per interval; return the monotonic time of each commit."""
    argv = [*_PRODUCER, "ping", "--dsn", dsn, "--insert", insert]
    out = run([*argv, "--jobs", str(jobs), "--interval", str(interval_seconds)], folder=ROOT)
    committed: list[int] = json.loads(out)["committed_ns"]
    return tuple(committed)


def feed(dsn: str, insert: str, *, backlog: int, probes: Path, folder: Path) -> Child:
    """Start a producer that keeps the backlog at its bound until it is stopped."""
    argv = [*_PRODUCER, "feed", "--dsn", dsn, "--insert", insert, "--backlog", str(backlog)]
    return start(
        "producer", [*argv, "--probes", str(probes)], log=folder / "producer.log", folder=ROOT
    )
