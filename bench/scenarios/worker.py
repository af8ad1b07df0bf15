"""P9: CPU per job of the worker, parent and child, with a handler that does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from bench import live
from bench.context import Context, say
from bench.outcome import Figure, Outcome, Row, figure
from bench.processes import Memory, memory, task_cpu_seconds, wait_until
from bench.rounds import template
from tests.support.worker_children import children_of

_DATABASE = "worker"
_JOBS = 50_000
_ROUNDS_QUICK, _ROUNDS_LONG = 3, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """CPU in µs per job of each round, and memory at the end."""

    parent_us: tuple[float, ...]
    children_us: tuple[float, ...]
    parent_memory: Memory
    child_memory: Memory
    template_memory: Memory
    """Of the process that forks the children."""


def _cpu(running: live.Live) -> tuple[float, float]:
    parent, *children = running.worker_pids()
    return task_cpu_seconds(parent), sum(task_cpu_seconds(child) for child in children)


def _round(context: Context, running: live.Live) -> tuple[float, float]:
    """Drain some ten thousand jobs; return the parent's and the children's µs per job."""
    goal = running.probes.count() + _JOBS
    before = _cpu(running)
    context.fairlead.enqueue(running.dsn, _JOBS, 1000)
    wait_until(
        "the jobs start", lambda: running.probes.count() >= goal, watching=running.children
    )
    query = context.fairlead.unfinished
    wait_until("the jobs finish", lambda: not context.server.value(query, _DATABASE))
    after = _cpu(running)
    return (after[0] - before[0]) / _JOBS * 1e6, (after[1] - before[1]) / _JOBS * 1e6


def _memories(running: live.Live) -> tuple[Memory, Memory, Memory]:
    """Return the memory of the parent, its child and the template of children."""
    parent, *below = running.worker_pids()
    (child,) = children_of(parent)
    (forks,) = (pid for pid in below if pid != child)
    return memory(parent), memory(child), memory(forks)


def observe(context: Context) -> Observed:
    """Drain rounds with warm processes; a repeat in one run returns the same."""
    known = context.kept.get("worker")
    if isinstance(known, Observed):
        return known
    server = context.server
    dsn = server.create_database(_DATABASE, template(server, context.fairlead))
    with live.running(context.fairlead, dsn) as running:
        _round(context, running)  # warms up
        rounds = [
            _round(context, running)
            for _turn in range(context.rounds(_ROUNDS_QUICK, _ROUNDS_LONG))
        ]
        parent_memory, child_memory, template_memory = _memories(running)
    server.drop_database(_DATABASE)
    observed = Observed(
        parent_us=tuple(parent for parent, _child in rounds),
        children_us=tuple(child for _parent, child in rounds),
        parent_memory=parent_memory,
        child_memory=child_memory,
        template_memory=template_memory,
    )
    context.kept["worker"] = observed
    return observed


def run(context: Context) -> Outcome:
    """Report CPU per job, together and separately."""
    observed = observe(context)
    both = [sum(pair) for pair in zip(observed.parent_us, observed.children_us, strict=True)]
    figures: tuple[Figure, ...] = (
        figure("cpu_us_per_job", "worker's CPU per no-op job", "us", both),
        figure("parent_us", "of that, the parent", "us", observed.parent_us),
        figure("child_us", "of that, the child", "us", observed.children_us),
    )
    say("  worker: " + ", ".join(f"{each.label} {each.value.median:,.2f}" for each in figures))
    rows: list[Row] = [
        {"parent_us": round(parent, 2), "child_us": round(child, 2)}
        for parent, child in zip(observed.parent_us, observed.children_us, strict=True)
    ]
    return Outcome(scenario="P9", figures=figures, rows=tuple(rows))
