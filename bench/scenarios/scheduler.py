"""P8: the scheduler's cost with ten thousand tenants and a million waiting jobs.

Its own CPU time comes from the kernel, to the nanosecond. Buffers are read in two ways: per
statement with EXPLAIN (ANALYZE, BUFFERS) on the statement's own text, and for the whole session
from pg_stat_get_backend_io, which counts everything the scheduler's connections touched.

A machine that is slow for an hour shows more microseconds for the same code. So a minimal
dispatcher in Python is measured on the same backlog, before and after, and the ratio is
measured; and the scheduler's CPU time is split by step, in a separate run with clocks at its
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from bench import explain, leader, live, statement_log, steps
from bench.context import Context, say
from bench.figures import spread
from bench.outcome import Figure, Outcome, Row, figure, ratio
from bench.processes import Memory, memory
from bench.rounds import template
from bench.scenarios.backlog import fill

_DATABASE = "scheduler"
_TENANTS = 10_000
_JOBS_QUICK, _JOBS_LONG = 1_000_000, 1_000_000
_WINDOWS_QUICK, _WINDOWS_LONG = 3, 10
_WINDOW_SECONDS = 3.0
_BARE_SECONDS, _SPLIT_SECONDS = 2.0, 3.0
_LOGGED_JOBS = 20_000
_IDLE_SECONDS_QUICK, _IDLE_SECONDS_LONG = 10.0, 60.0
_BUFFERS = """
select coalesce(sum(coalesce(io.hits, 0) + coalesce(io.reads, 0)), 0)::bigint
from pg_stat_activity as session
cross join lateral pg_stat_get_backend_io(session.pid) as io
where session.datname = current_database() and session.application_name like '%scheduler%'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The measurements of one run under load and one at rest."""

    windows: tuple[live.Window, ...]
    bare_us: tuple[float, ...]
    split: leader.Split
    buffers_per_job: float
    plans: dict[str, float]
    memory: Memory
    idle_share: float


def _under_load(context: Context, dsn: str) -> tuple[list[live.Window], float, Memory]:
    server = context.server
    with live.running(context.fairlead, dsn) as running:
        live.warm_up(running, 20_000)
        buffers, jobs = int(str(server.value(_BUFFERS, _DATABASE))), running.probes.count()
        windows = [
            live.watch(running, _WINDOW_SECONDS)
            for _turn in range(context.rounds(_WINDOWS_QUICK, _WINDOWS_LONG))
        ]
        touched = int(str(server.value(_BUFFERS, _DATABASE))) - buffers
        per_job = touched / max(1, running.probes.count() - jobs)
        return windows, per_job, memory(running.scheduler.pid)


def _plans(context: Context, dsn: str) -> dict[str, float]:
    """Run for a moment with parameters logged, then explain what was sent."""
    server = context.server
    before = f"{_DATABASE}_before"
    server.create_database(before, _DATABASE)
    statement_log.switch_on(server, _DATABASE, with_parameters=True)
    first = statement_log.position(server)
    with live.running(context.fairlead, dsn) as running:
        live.warm_up(running, _LOGGED_JOBS)
    statement_log.switch_off(server, _DATABASE)
    found = explain.scheduler_buffers(server, _DATABASE, before=before, first=first)
    server.drop_database(before)
    return found


def _at_rest(context: Context) -> float:
    server = context.server
    dsn = server.create_database("rest", template(server, context.fairlead))
    with live.running(context.fairlead, dsn) as running:
        context.fairlead.enqueue(dsn, 1000, 1000)
        live.warm_up(running, 1000)
        live.watch(running, 3.0)  # come to rest
        seconds = _IDLE_SECONDS_LONG if context.long else _IDLE_SECONDS_QUICK
        window = live.watch(running, seconds)
    server.drop_database("rest")
    return window.scheduler_cpu_seconds / window.seconds


def observe(context: Context) -> Observed:
    """Run the scheduler under load and at rest; a repeat in one run returns the same."""
    known = context.kept.get("scheduler")
    if isinstance(known, Observed):
        return known
    server = context.server
    dsn = server.create_database(_DATABASE, template(server, context.fairlead))
    fill(context, _DATABASE, jobs=context.rounds(_JOBS_QUICK, _JOBS_LONG), tenants=_TENANTS)
    before = leader.bare_us(context, dsn, _BARE_SECONDS)
    windows, buffers, resident = _under_load(context, dsn)
    after = leader.bare_us(context, dsn, _BARE_SECONDS)
    observed = Observed(
        windows=tuple(windows),
        bare_us=(before, after),
        split=leader.split(context, dsn, _SPLIT_SECONDS),
        buffers_per_job=buffers,
        plans=_plans(context, dsn),
        memory=resident,
        idle_share=_at_rest(context),
    )
    server.drop_database(_DATABASE)
    context.kept["scheduler"] = observed
    return observed


def _context(observed: Observed, costs: list[float]) -> list[Figure]:
    """Return the floor, the ratio over it, and the parts of the scheduler's CPU."""
    bare, parts = observed.bare_us, observed.split
    whole = figure("split_us", "with clocks at its steps", "us", [parts.whole_us])
    return [
        figure("bare_us_per_job", "a bare dispatcher's CPU per job", "us", bare),
        ratio(
            "cpu_over_bare", "scheduler / bare", spread([each / mean(bare) for each in costs])
        ),
        whole,
        *(
            figure(f"split_{key}", f"of that: {steps.LABELS[key]}", "us", [us])
            for key, us in parts.by_step.items()
        ),
        figure("split_kernel", "in all of them, the kernel", "us", [parts.kernel_us]),
    ]


def figures(observed: Observed) -> list[Figure]:
    """Return the figures of a run, those with a bar first."""
    windows = observed.windows
    costs = [window.scheduler_us_per_job for window in windows]
    resting, touched = observed.idle_share * 100, observed.buffers_per_job
    return [
        figure("cpu_us_per_job", "scheduler's CPU per dispatched job", "us", costs),
        figure("idle_percent", "scheduler at rest, of one core", "%", [resting]),
        figure("session_buffers", "all its buffers per job", "buffers", [touched]),
        figure("rate", "rate meanwhile", "jobs/s", [window.rate for window in windows]),
        *(
            figure(f"buffers_{name}", f"buffers per job, {name}", "buffers", [buffers])
            for name, buffers in observed.plans.items()
        ),
        *_context(observed, costs),
    ]


def run(context: Context) -> Outcome:
    """Measure CPU and buffers per dispatched job, and CPU at rest."""
    observed = observe(context)
    measured = figures(observed)
    say(
        "  scheduler: "
        + ", ".join(f"{each.label} {each.value.median:,.2f}" for each in measured)
    )
    rows: list[Row] = [
        {"jobs_per_second": round(each.rate), "cpu_us": round(each.scheduler_us_per_job, 2)}
        for each in observed.windows
    ]
    return Outcome(scenario="P8", figures=tuple(measured), rows=tuple(rows))
