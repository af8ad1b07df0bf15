"""P10: the cost of fifty idle worker processes for PostgreSQL.

Fifty parents, as fifty pods would be, each with its child, and one scheduler. CPU is that of
all processes of the server; queries are those the server's log shows of worker sessions, in an
interval of its own. For comparison it measures the same number of plain sessions that send an
empty query once a second: the cost of a wake-up here.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path

import psycopg

from bench import statement_log
from bench.context import Context, say
from bench.outcome import Outcome, figure
from bench.probe import ProbeFolder
from bench.processes import Child, kill, wait_until
from bench.rounds import template

_DATABASE = "idle"
_WORKERS = 50
_SECONDS_QUICK, _SECONDS_LONG = 12.0, 120.0
_ALONE_SECONDS = 5.0
_LOGGED_SECONDS = 6.0
_SCHEDULER_REST_SECONDS = 3.0
_REST_SECONDS = 16.0
"""Four renewals of every lease: a session prepares a statement at the third time, and until
then each is planned anew."""
_LED = "select epoch > 0 from fairlead.leaders where role = 'scheduler'"
_LIVE = "select count(*) from fairlead.workers where state = 'live'"


def _cpu_between(before: dict[int, float], after: dict[int, float]) -> float:
    """Sum the CPU time of processes that lived at both moments; others are left out."""
    return sum(seconds - before[pid] for pid, seconds in after.items() if pid in before)


def _cpu_share(context: Context, seconds: float) -> float:
    """Return the share of a core that the server's processes use."""
    cpu, begun = context.server.live_cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    used = _cpu_between(cpu, context.server.live_cpu_seconds())
    return used / (time.monotonic() - begun)


def _plain_share(context: Context, dsn: str) -> float:
    """Return the share of a core for as many sessions that send SELECT once a second."""
    with contextlib.ExitStack() as stack:
        sessions = [
            stack.enter_context(psycopg.connect(dsn, autocommit=True)) for _ in range(_WORKERS)
        ]
        cpu, begun = context.server.live_cpu_seconds(), time.monotonic()
        for turn in range(int(_ALONE_SECONDS) * _WORKERS):
            sessions[turn % _WORKERS].execute(b"select", prepare=True)
            time.sleep(max(0.0, begun + (turn + 1) / _WORKERS - time.monotonic()))
        used = _cpu_between(cpu, context.server.live_cpu_seconds())
        return used / (time.monotonic() - begun)


def _queries(context: Context) -> tuple[float, float]:
    """Return the queries per second of one worker and of the scheduler, from the log."""
    server = context.server
    server.execute("alter system set log_min_duration_statement = 0")
    server.execute("select pg_reload_conf()")
    first, begun = statement_log.position(server), time.monotonic()
    time.sleep(_LOGGED_SECONDS)
    counted = statement_log.executions(server.log, first, statement_log.position(server))
    elapsed = time.monotonic() - begun
    server.execute("alter system reset log_min_duration_statement")
    server.execute("select pg_reload_conf()")
    scheduler = sum(count for name, count in counted.items() if "scheduler" in name)
    workers = sum(count for name, count in counted.items() if "worker" in name)
    return workers / elapsed / _WORKERS, scheduler / elapsed


def _start_workers(
    context: Context, dsn: str, folder: Path, stack: contextlib.ExitStack
) -> None:
    """Start the fleet and wait until every worker's lease is live."""
    children: list[Child] = []
    stack.callback(kill, children)
    children.extend(
        context.fairlead.start_worker(dsn, folder, name=f"worker-{number}")
        for number in range(_WORKERS)
    )
    wait_until(
        f"{_WORKERS} workers are live",
        lambda: int(str(context.server.value(_LIVE, _DATABASE))) >= _WORKERS,
        watching=children,
        timeout_seconds=240,
        pause_seconds=0.5,
    )


def run(context: Context) -> Outcome:
    """Measure the server with the scheduler alone, then with the fleet at rest."""
    server = context.server
    dsn = server.create_database(_DATABASE, template(server, context.fairlead))
    server.checkpoint()  # else what came before is written meanwhile
    with (
        tempfile.TemporaryDirectory(prefix="bench-idle-") as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        ProbeFolder(folder / "probes")
        stack.callback(context.fairlead.start_scheduler(dsn, folder).stop)
        wait_until("a scheduler leads", lambda: bool(server.value(_LED, _DATABASE)))
        time.sleep(_SCHEDULER_REST_SECONDS)
        alone = _cpu_share(context, _ALONE_SECONDS)
        plain = _plain_share(context, dsn)
        _start_workers(context, dsn, folder, stack)
        time.sleep(_REST_SECONDS)
        share = _cpu_share(context, _SECONDS_LONG if context.long else _SECONDS_QUICK)
        each, scheduler = _queries(context)
    server.drop_database(_DATABASE)
    say(f"  idle fleet: {share * 100:.2f} % of a core, {each:.2f} queries/s per worker")
    return Outcome(
        scenario="P10",
        figures=(
            figure("postgres_percent", "PostgreSQL, of one core", "%", [share * 100]),
            figure("queries_per_second", "queries per worker process", "1/s", [each]),
            figure("alone_percent", "PostgreSQL, scheduler alone", "%", [alone * 100]),
            figure(
                "plain_percent",
                "as many sessions, SELECT once a second, and the scheduler",
                "%",
                [plain * 100],
            ),
            figure("scheduler_queries", "the scheduler's queries", "1/s", [scheduler]),
        ),
    )
