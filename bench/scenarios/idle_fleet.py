"""P10: what fifty worker processes with nothing to do cost PostgreSQL.

Fifty parents, as fifty pods would be, each with its child, beside one scheduler. CPU is the
server's processes' own; queries are what the database counted as transactions.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path

from bench.context import Context, say
from bench.outcome import Outcome, figure
from bench.probe import ProbeFolder
from bench.processes import Child, wait_until
from bench.rounds import template

_DATABASE = "idle"
_WORKERS = 50
_SECONDS_QUICK, _SECONDS_LONG = 15.0, 120.0
_REST_SECONDS = 6.0  # more than one renewal of every lease
_LIVE = "select count(*) from fairlead.workers where state = 'live'"
_TRANSACTIONS = (
    "select xact_commit + xact_rollback from pg_stat_database where datname = 'idle'"
)


def _cpu_between(before: dict[int, float], after: dict[int, float]) -> float:
    """Sum what processes that lived at both moments have used; others had no part in it."""
    return sum(seconds - before[pid] for pid, seconds in after.items() if pid in before)


def _watch(context: Context, seconds: float) -> tuple[float, float]:
    """Return the server's share of a core and the queries per second of one worker."""
    server = context.server
    transactions = int(str(server.value(_TRANSACTIONS)))
    cpu, begun = server.live_cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    used, elapsed = _cpu_between(cpu, server.live_cpu_seconds()), time.monotonic() - begun
    queries = int(str(server.value(_TRANSACTIONS))) - transactions
    return used / elapsed, queries / elapsed / _WORKERS


def run(context: Context) -> Outcome:
    """Start the fleet, let it come to rest, and watch the server."""
    server = context.server
    dsn = server.create_database(_DATABASE, template(server, context.fairlead))
    with (
        tempfile.TemporaryDirectory(prefix="bench-idle-") as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        ProbeFolder(folder / "probes")
        children: list[Child] = [context.fairlead.start_scheduler(dsn, folder)]
        stack.callback(children[0].stop)
        for number in range(_WORKERS):
            child = context.fairlead.start_worker(dsn, folder, name=f"worker-{number}")
            children.append(child)
            stack.callback(child.kill)
        wait_until(
            f"{_WORKERS} workers are live",
            lambda: int(str(server.value(_LIVE, _DATABASE))) >= _WORKERS,
            watching=children,
            timeout_seconds=180,
            pause_seconds=0.5,
        )
        time.sleep(_REST_SECONDS)
        share, queries = _watch(context, _SECONDS_LONG if context.long else _SECONDS_QUICK)
    server.drop_database(_DATABASE)
    say(f"  idle fleet: {share * 100:.2f} % of a core, {queries:.2f} queries/s per process")
    return Outcome(
        scenario="P10",
        figures=(
            figure("postgres_percent", "PostgreSQL, of one core", "%", [share * 100]),
            figure("queries_per_second", "queries per worker process", "1/s", [queries]),
        ),
    )
