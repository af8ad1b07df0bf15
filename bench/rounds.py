"""The two measurements that all contenders share: one drain and one run of idle latency.

A drain: jobs are enqueued first; the clock runs from the first handler's start until nothing
is unfinished in the table. Idle latency: one job per interval on an idle system, from the
commit of its insert to the start of its handler.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.contender import Contender, Fleet
from bench.figures import percentile
from bench.processes import tree_cpu_seconds, wait_until
from bench.server import Server

ENQUEUE_BATCH = 1000
PING_INTERVAL_SECONDS = 0.05
_WARM_UP_JOBS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """One drain: rates in jobs per second, WAL in bytes per job, CPU in µs per job."""

    enqueue_rate: float
    drain_rate: float
    insert_wal_bytes: float
    wal_bytes: float
    clients_cpu_us: float
    postgres_cpu_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """One run of idle latency, in milliseconds."""

    p50_ms: float
    p99_ms: float
    highest_ms: float


def template(server: Server, contender: Contender) -> str:
    """Return the database with the contender's empty tables, making it at the first use."""
    name = f"template_{contender.name}"
    known = server.value(f"select count(*) from pg_database where datname = '{name}'")
    if not known:
        contender.install(server.create_database(name))
    return name


def _finish(
    server: Server, contender: Contender, database: str, fleet: Fleet, jobs: int
) -> int:
    """Wait until every job has started and none is unfinished; return that moment."""
    count = fleet.probes.count
    wait_until(
        f"{contender.name} starts {jobs} jobs",
        lambda: count() >= jobs,
        watching=fleet.children,
        timeout_seconds=180,
    )
    query = contender.unfinished.encode()
    with server.connect(database) as connection:

        def done() -> bool:
            row = connection.execute(query).fetchone()
            return row is not None and not row[0]

        wait_until(f"{contender.name} finishes", done, watching=fleet.children)
        return time.monotonic_ns()


def _cpu(server: Server, fleet: Fleet) -> tuple[float, float]:
    """Return the CPU seconds of the fleet and of the server so far."""
    return sum(tree_cpu_seconds(child.pid) for child in fleet.children), server.cpu_seconds()


def _cpu_at_first_start(
    server: Server, contender: Contender, fleet: Fleet
) -> tuple[float, float]:
    """Wait for the first handler, so that the start of the programs is not counted."""
    wait_until(
        f"{contender.name} starts its first job",
        lambda: fleet.probes.count() > 0,
        watching=fleet.children,
    )
    return _cpu(server, fleet)


def drain(server: Server, contender: Contender, *, workers: int, jobs: int) -> Drain:
    """Enqueue `jobs`, then start the workers and time them until the table is done."""
    database = f"drain_{contender.name}"
    dsn = server.create_database(database, template(server, contender))
    server.checkpoint()
    wal_before = server.wal_bytes()
    enqueue_seconds = contender.enqueue(dsn, jobs, ENQUEUE_BATCH)
    insert_wal = server.wal_bytes() - wal_before
    server.execute("analyze", database)
    with tempfile.TemporaryDirectory(prefix="bench-drain-") as folder:
        fleet = contender.start(dsn, workers=workers, folder=Path(folder), stamps=False)
        try:
            cpu_before = _cpu_at_first_start(server, contender, fleet)
            end_ns = _finish(server, contender, database, fleet, jobs)
            cpu = _cpu(server, fleet)
            seconds = (end_ns - fleet.probes.first_start_ns()) / 1e9
            wal = server.wal_bytes() - wal_before
        finally:
            fleet.stop()
    server.drop_database(database)
    return Drain(
        enqueue_rate=jobs / enqueue_seconds,
        drain_rate=jobs / seconds,
        insert_wal_bytes=insert_wal / jobs,
        wal_bytes=wal / jobs,
        clients_cpu_us=(cpu[0] - cpu_before[0]) / jobs * 1e6,
        postgres_cpu_us=(cpu[1] - cpu_before[1]) / jobs * 1e6,
    )


def _warm_up(contender: Contender, dsn: str, fleet: Fleet) -> None:
    """Send a few jobs and wait for them, so that the measured ones meet an idle system."""
    contender.ping(dsn, _WARM_UP_JOBS, PING_INTERVAL_SECONDS)
    wait_until(
        f"{contender.name} runs its first jobs",
        lambda: fleet.probes.count() >= _WARM_UP_JOBS,
        watching=fleet.children,
        timeout_seconds=60,
    )


def latency(server: Server, contender: Contender, *, jobs: int) -> Latency:
    """Start one worker, let it come to rest, and time one job per interval."""
    database = f"latency_{contender.name}"
    dsn = server.create_database(database, template(server, contender))
    server.checkpoint()
    with tempfile.TemporaryDirectory(prefix="bench-latency-") as folder:
        fleet = contender.start(dsn, workers=1, folder=Path(folder), stamps=True)
        try:
            _warm_up(contender, dsn, fleet)
            committed = contender.ping(dsn, jobs, PING_INTERVAL_SECONDS)
            every = _WARM_UP_JOBS + jobs
            wait_until(
                f"{contender.name} runs {every} jobs",
                lambda: fleet.probes.count() >= every,
                watching=fleet.children,
            )
            started = fleet.probes.stamps(jobs)
        finally:
            fleet.stop()
    server.drop_database(database)
    waits = [(start - commit) / 1e6 for start, commit in zip(started, committed, strict=True)]
    return Latency(
        p50_ms=percentile(waits, 0.5), p99_ms=percentile(waits, 0.99), highest_ms=max(waits)
    )
