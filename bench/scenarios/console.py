"""P13: how fast the console's pages are over many jobs, and what two hundred browsers cost.

Every page is asked for again and again, at rest and after a drain beside a transaction that
keeps an old snapshot. Then the browsers watch, at rest and during a drain; what that costs
the database is the CPU of the console's sessions. Each browser asks for its page when it is
told of a change, as the page's script does.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import plain_sql
from bench.context import Context, say
from bench.figures import percentile
from bench.outcome import Figure, Outcome, Row, figure
from bench.probe import ProbeFolder
from bench.processes import Child, memory, wait_until
from bench.rounds import template
from bench.watchers import fetch, watching

_DATABASE = "console"
_JOBS_QUICK, _JOBS_LONG = 500_000, 5_000_000
_TENANTS, _QUEUES = 10_000, 20
_ENDED = 200_000
_CHUNK = 250_000
_ASKED = 50
"""Requests for each page: the nearest rank of their p99 is the slowest."""
_BROWSERS = 200
_DRAIN_SECONDS_QUICK, _DRAIN_SECONDS_LONG = 12.0, 60.0
_WATCHED_SECONDS_QUICK, _WATCHED_SECONDS_LONG = 60.0, 300.0
"""Browsers may be told of changes once a minute only."""
_BACKLOG = 20_000
_LED = "select epoch > 0 from fairlead.leaders where role = 'scheduler'"
_REPORTED = "select exists (select from fairlead.fairness_reports)"
_PAGES = (
    *("/", "/queues", "/jobs", "/failures", "/failures?within=7d", "/tenants", "/schedules"),
    *("/autoscaler", "/policy", "/audit", "/jobs?tenant=tenant-7", "/jobs?queue=queue-3"),
    *("/jobs?state=failed", "/jobs?state=scheduled", "/jobs?tenant=tenant-7&state=failed"),
)
_LIVE = (
    *("/", "/queues", "/failures", "/tenants", "/schedules", "/autoscaler", "/policy"),
    *("/",) * 5,
    *("/queues", "/tenants") * 4,
)
"""The pages that follow changes; beside them, one browser in 21 has a job of its own."""
_ENDINGS = """
insert into fairlead.job_history
    (id, created_at, runnable_at, claimed_at, finished_at, attempt, max_attempts, crashes,
     losses, priority, outcome, queue, tenant, kind, payload, error)
select nextval(pg_get_serial_sequence('fairlead.jobs', 'id')), at, at, at, at, 1, 5, 0, 0, 0,
       case when n % 4 = 0 then 'failed' else 'succeeded' end, 'queue-' || n % {queues},
       'tenant-' || n % {tenants}, 'bench', '{{}}',
       case when n % 4 = 0 then 'Error' || n % 40 || ': it went wrong' end
from generate_series(1, {ended}) n, lateral (select now() - n * interval '1 s' as at) as came
"""
_FILL = """
insert into fairlead.jobs (queue, tenant, kind, payload, run_at)
select 'queue-' || n % {queues}, 'tenant-' || n % {tenants}, 'bench',
       jsonb_build_object('n', 0, 'pad', repeat('x', 84)),
       case when n / {tenants} % 10 = 9 then now() + interval '1 day' end
from generate_series(1, {jobs}) n
"""


def _fill(context: Context) -> None:
    server = context.server
    shape = {"queues": _QUEUES, "tenants": _TENANTS}
    server.execute(_ENDINGS.format(ended=_ENDED, **shape), _DATABASE)
    jobs = _JOBS_LONG if context.long else _JOBS_QUICK
    for _ in range(0, jobs, _CHUNK):
        server.execute(_FILL.format(jobs=_CHUNK, **shape), _DATABASE)
    server.execute("vacuum analyze", _DATABASE)
    server.checkpoint()


def _address(console: Child) -> str:
    said = "The console is at "
    wait_until(
        "the console answers", lambda: said in console.log.read_text(), watching=(console,)
    )
    return console.log.read_text().partition(said)[2].split()[0]


def _ask(address: str, pages: tuple[str, ...], when: str) -> list[Row]:
    """Ask for each page again and again, one request at a time; return a row for each page."""
    rows: list[Row] = []
    for page in pages:
        took = [asyncio.run(fetch(address, page)) * 1000 for _ in range(_ASKED)]
        rows.append(
            {
                "when": when,
                "page": page,
                "p50_ms": round(percentile(took, 0.5), 1),
                "p99_ms": round(percentile(took, 0.99), 1),
            }
        )
    slowest = max(rows, key=lambda row: float(row["p99_ms"]))
    say(f"  {when}: the slowest page, {slowest['page']}, p99 {slowest['p99_ms']} ms")
    return rows


def _slowest(rows: list[Row]) -> float:
    return max(float(row["p99_ms"]) for row in rows)


class _Server:
    """The CPU of the server's processes, those of the console's sessions apart."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def during(self, seconds: float) -> tuple[float, float]:
        """Wait; return the CPU seconds of the console's sessions and of all processes."""
        server = self._context.server
        before, of_console = server.live_cpu_seconds(), self._console()
        time.sleep(seconds)
        of_console |= self._console()
        used = {
            pid: cpu - before.get(pid, 0.0) for pid, cpu in server.live_cpu_seconds().items()
        }
        return sum(used.get(pid, 0.0) for pid in of_console), sum(used.values())

    def _console(self) -> set[int]:
        with self._context.server.connect(_DATABASE) as connection:
            found = connection.execute(
                "select pid from pg_stat_activity where application_name = 'fairlead console'"
            )
            return {int(str(pid)) for (pid,) in found}


def _drained_beside_a_snapshot(
    context: Context, dsn: str, folder: Path, address: str, pages: tuple[str, ...]
) -> list[Row]:
    """Drain while an old snapshot is kept, then ask for each page while it still is."""
    with psycopg.connect(dsn) as snapshot:
        snapshot.execute("set transaction isolation level repeatable read")
        snapshot.execute("select from fairlead.jobs limit 1")
        worker = context.fairlead.start_worker(dsn, folder)
        try:
            time.sleep(_DRAIN_SECONDS_LONG if context.long else _DRAIN_SECONDS_QUICK)
            worker.check()
        finally:
            worker.stop()
        return _ask(address, pages, "after a drain beside a snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """What the browsers cost the database, and how long their pages took in the drain."""

    rest_percent: float
    """Of one core."""
    drain_percent: float
    """Of what the server's processes used."""
    pages_ms: list[float]
    refused: int


def _watch(context: Context, folder: Path, address: str, paths: Sequence[str]) -> _Watched:
    """Have the browsers watch, at rest and then while jobs come and run."""
    seconds = _WATCHED_SECONDS_LONG if context.long else _WATCHED_SECONDS_QUICK
    cpu, dsn, fairlead = _Server(context), context.server.dsn(_DATABASE), context.fairlead
    with watching(address, paths) as watched, contextlib.ExitStack() as stack:
        at_rest, _ = cpu.during(seconds)
        before = len(watched.latencies_seconds)
        worker = fairlead.start_worker(dsn, folder)
        stack.callback(worker.stop)
        feeder = plain_sql.feed(
            dsn, fairlead.insert, backlog=_BACKLOG, probes=folder / "probes", folder=folder
        )
        stack.callback(feeder.stop)
        wait_until("jobs run", lambda: _runs(context), watching=(worker, feeder))
        ours, of_all = cpu.during(seconds)
        for child in (worker, feeder):
            child.check()
    return _Watched(
        rest_percent=at_rest / seconds * 100,
        drain_percent=ours / of_all * 100,
        pages_ms=[each * 1000 for each in watched.latencies_seconds[before:]],
        refused=watched.refused,
    )


def run(context: Context) -> Outcome:
    """Ask for every page, then have the browsers watch."""
    server = context.server
    dsn = server.create_database(_DATABASE, template(server, context.fairlead))
    _fill(context)
    with (
        tempfile.TemporaryDirectory(prefix="bench-console-") as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        ProbeFolder(folder / "probes")
        stack.callback(context.fairlead.start_scheduler(dsn, folder).stop)
        wait_until("a scheduler leads", lambda: bool(server.value(_LED, _DATABASE)))
        console = context.fairlead.start_console(dsn, folder)
        stack.callback(console.stop)
        address = _address(console)
        wait_until("it reports", lambda: bool(server.value(_REPORTED, _DATABASE)))
        newest = int(str(server.value("select max(id) from fairlead.jobs", _DATABASE)))
        pages = (*_PAGES, f"/jobs/{newest}")
        rows = _ask(address, pages, "at rest")
        later = _drained_beside_a_snapshot(context, dsn, folder, address, pages)
        watched = _watch(context, folder, address, _looked_at(newest))
        used = memory(console.pid)
    server.drop_database(_DATABASE)
    say(
        f"  {_BROWSERS} browsers: {watched.rest_percent:.2f} % of a core at rest,"
        f" {watched.drain_percent:.2f} % of a drain's, {len(watched.pages_ms)} pages in it"
    )
    return Outcome(
        scenario="P13",
        figures=(
            _figure("page_p99_ms", "the slowest page's p99", "ms", _slowest(rows)),
            _figure("later_p99_ms", "after a drain beside a snapshot", "ms", _slowest(later)),
            _figure(
                "rest_percent", "PostgreSQL at rest, of one core", "%", watched.rest_percent
            ),
            _figure("drain_percent", "PostgreSQL in a drain", "%", watched.drain_percent),
            _figure("console_mib", "the console's memory", "MiB", used.rss_mib),
            _figure("refused", "pages that were refused", "", watched.refused),
            *(
                _figure(f"busy_p{n}_ms", f"pages in a drain, p{n}", "ms", took)
                for n in (50, 99)
                if watched.pages_ms
                for took in [percentile(watched.pages_ms, n / 100)]
            ),
        ),
        rows=(*rows, *later),
    )


def _figure(key: str, label: str, unit: str, value: float) -> Figure:
    return figure(key, label, unit, [value])


def _looked_at(newest: int) -> tuple[str, ...]:
    """Return what each browser looks at; a job is one of those that will run last."""
    every = len(_LIVE) + 1
    return tuple(
        _LIVE[number % every] if number % every < len(_LIVE) else f"/jobs/{newest - number}"
        for number in range(_BROWSERS)
    )


def _runs(context: Context) -> bool:
    claimed = "select exists (select from fairlead.work_queue where worker is not null)"
    return bool(context.server.value(claimed, _DATABASE))
