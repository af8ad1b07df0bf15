"""P6: throughput and latency while an old snapshot keeps every dead row.

A transaction is opened and left open, like a forgotten session or a long report. From then on
no dead index entry can be removed. A producer keeps a bounded backlog and a worker drains it,
with everything on; starts are counted each second, and the server's log has the durations of
claims and dispatches in the first and in the last sixth. Before that the same load is counted
without the transaction. With many tenants (`--tenants 100000`) a job of each waits beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from bench import live, statement_log
from bench.context import Context, say
from bench.figures import percentile
from bench.outcome import Figure, Outcome, Row, figure
from bench.rounds import template
from bench.scenarios.backlog import fill

_DATABASE = "snapshot"
_BACKLOG = 20_000
_SECONDS_QUICK, _SECONDS_LONG = 60, 600
_STATEMENTS = ("claim", "dispatch")


def _rates(
    running: live.Live, seconds: int, marks: dict[int, int], position: Callable[[], int]
) -> list[float]:
    """Count the starts of each second; at the seconds in `marks`, record the log's position."""
    rates: list[float] = []
    last_count, last_time = running.probes.count(), time.monotonic()
    begun = last_time
    marks[0] = position()
    for second in range(1, seconds + 1):
        time.sleep(max(0.0, begun + second - time.monotonic()))
        count, now = running.probes.count(), time.monotonic()
        rates.append((count - last_count) / (now - last_time))
        last_count, last_time = count, now
        marks[second] = position()
        for child in running.children:
            child.check()
    return rates


def _ratios(before: list[float], rates: list[float]) -> list[Figure]:
    sixth = len(rates) // 6
    first, last = median(rates[:sixth]), median(rates[-sixth:])
    middle = median(rates)
    return [
        figure("last_over_first", "median rate, last sixth / first", "x", [last / first]),
        figure(
            "p5_over_median",
            "5th percentile of 1 s rates / median",
            "x",
            [percentile(rates, 0.05) / middle],
        ),
        figure("rate", "median rate", "jobs/s", [middle]),
        figure("rate_over_without", "rate / that without it", "x", [middle / median(before)]),
    ]


def _durations(context: Context, marks: dict[int, int], seconds: int) -> list[Figure]:
    log, sixth = context.server.log, seconds // 6
    early = statement_log.read(log, marks[0], marks[sixth])
    late = statement_log.read(log, marks[seconds - sixth], marks[seconds])
    figures: list[Figure] = []
    for name in _STATEMENTS:
        before, after = early.of(name), late.of(name)
        if before and after:
            p99s = percentile(before, 0.99), percentile(after, 0.99)
            figures += [
                figure(f"{name}_p99", f"{name} p99, last / first", "x", [p99s[1] / p99s[0]]),
                figure(f"{name}_p99_ms", f"{name} p99, last sixth", "ms", [p99s[1]]),
            ]
    return figures


def run(context: Context) -> Outcome:
    """Open a snapshot, hold it, and measure a steady load."""
    server = context.server
    seconds = context.rounds(_SECONDS_QUICK, _SECONDS_LONG)
    dsn = server.create_database(_DATABASE, template(server, context.fairlead))
    statement_log.switch_on(server, _DATABASE)
    server.checkpoint()
    tenants = context.fairlead.tenants
    if tenants > 1:
        fill(context, _DATABASE, jobs=tenants, tenants=tenants)
    marks: dict[int, int] = {}
    with (
        live.running(context.fairlead, dsn) as running,
        live.feeding(running, backlog=_BACKLOG),
        server.connect(_DATABASE) as holder,
    ):
        live.warm_up(running, 20_000)
        before = _rates(running, seconds // 3, {}, lambda: statement_log.position(server))
        holder.execute(b"begin isolation level repeatable read")
        holder.execute(b"select count(*) from fairlead.leaders")
        rates = _rates(running, seconds, marks, lambda: statement_log.position(server))
        holder.execute(b"rollback")
    server.drop_database(_DATABASE)
    figures = [*_ratios(before, rates), *_durations(context, marks, seconds)]
    say(
        "  snapshot: " + ", ".join(f"{each.label} {each.value.median:,.2f}" for each in figures)
    )
    rows: list[Row] = [
        {"second": number + 1, "jobs_per_second": round(rate)}
        for number, rate in enumerate(rates)
    ]
    return Outcome(scenario="P6", figures=tuple(figures), rows=tuple(rows))
