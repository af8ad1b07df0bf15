"""P5: whether anything gets slower when a million or ten million jobs wait behind.

One database per backlog, measured in interleaved pairs. In each, a producer keeps the backlog
where it is while a worker drains, so that both sides of a pair do the same work; the rate of
starts and the scheduler's CPU time per job are read over the same seconds.
"""

from __future__ import annotations

from bench import live
from bench.context import Context, say
from bench.figures import paired_ratio, spread
from bench.outcome import Figure, Outcome, Row, figure
from bench.rounds import template

SMALLEST = 10_000
_LARGE_QUICK = (1_000_000,)
_LARGE_LONG = (1_000_000, 10_000_000)
_PAIRS_QUICK, _PAIRS_LONG = 3, 9
_SECONDS_QUICK, _SECONDS_LONG = 3.0, 10.0
_FILL_CHUNK = 250_000
FILL = (
    "insert into fairlead.jobs (tenant, kind, payload)"
    " select case when {tenants} = 1 then '' else 'tenant-' || n % {tenants} end, 'bench',"
    " jsonb_build_object('n', 0, 'pad', repeat('x', 84))"
    " from generate_series(1, {jobs}) n"
)


def fill(context: Context, database: str, *, jobs: int, tenants: int) -> None:
    """Insert a backlog in large transactions, then vacuum as a server at rest would have."""
    for first in range(0, jobs, _FILL_CHUNK):
        chunk = min(_FILL_CHUNK, jobs - first)
        context.server.execute(FILL.format(tenants=tenants, jobs=chunk), database)
    context.server.execute("vacuum analyze fairlead.jobs", database)
    context.server.checkpoint()


def _database(backlog: int) -> str:
    return f"backlog_{backlog}"


def _measure(context: Context, backlog: int) -> live.Window:
    database = _database(backlog)
    for table in ("jobs", "work_queue"):
        context.server.execute(f"vacuum fairlead.{table}", database)
    context.server.checkpoint()
    seconds = _SECONDS_LONG if context.long else _SECONDS_QUICK
    dsn = context.server.dsn(database)
    with (
        live.running(context.fairlead, dsn) as running,
        live.feeding(running, backlog=SMALLEST),
    ):
        live.warm_up(running)
        window = live.watch(running, seconds)
    say(
        f"  backlog {backlog:,}: {window.rate:,.0f} jobs/s,"
        f" scheduler {window.scheduler_us_per_job:.1f} us/job"
    )
    return window


def _slopes(windows: dict[int, list[live.Window]], backlog: int) -> list[Figure]:
    small, large = windows[SMALLEST], windows[backlog]
    drain = paired_ratio([each.rate for each in small], [each.rate for each in large])
    dispatch = paired_ratio(
        [each.scheduler_us_per_job for each in large],
        [each.scheduler_us_per_job for each in small],
    )
    return [
        Figure(
            key=f"{name}_slope_{backlog}",
            label=f"{name} slope, {SMALLEST:,} to {backlog:,}",
            unit="%",
            value=spread(
                [(value - 1) * 100 for value in (low.lowest, low.median, low.highest)]
            ),
        )
        for name, low in (("drain", drain), ("dispatch", dispatch))
    ]


def run(context: Context) -> Outcome:
    """Fill one database per backlog, then measure them in turns."""
    larger = _LARGE_LONG if context.long else _LARGE_QUICK
    backlogs = (SMALLEST, *larger)
    for backlog in backlogs:
        context.server.create_database(
            _database(backlog), template(context.server, context.fairlead)
        )
        if backlog != SMALLEST:  # the feeder makes the smallest itself
            tenants = context.fairlead.tenants
            fill(context, _database(backlog), jobs=backlog, tenants=tenants)
    windows: dict[int, list[live.Window]] = {backlog: [] for backlog in backlogs}
    for turn in range(context.rounds(_PAIRS_QUICK, _PAIRS_LONG)):
        for backlog in backlogs if turn % 2 else backlogs[::-1]:
            windows[backlog].append(_measure(context, backlog))
    for backlog in backlogs:
        context.server.drop_database(_database(backlog))
    figures = [slope for backlog in larger for slope in _slopes(windows, backlog)]
    figures += [
        figure(f"rate_{backlog}", f"at {backlog:,}", "jobs/s", [each.rate for each in some])
        for backlog, some in windows.items()
    ]
    rows: list[Row] = [
        {
            "backlog": backlog,
            "jobs_per_second": round(each.rate),
            "scheduler_us_per_job": round(each.scheduler_us_per_job, 2),
        }
        for backlog, some in windows.items()
        for each in some
    ]
    return Outcome(scenario="P5", figures=tuple(figures), rows=tuple(rows))
