"""P8's context for the scheduler's CPU time: a lower bound, and the time of each step."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench import live, steps
from bench.context import Context, say
from bench.processes import system_cpu_seconds

BARE = (sys.executable, "-m", "bench.floors.bare")
_WITH_CLOCKS = (sys.executable, "-m", "bench.steps")
_WARM_JOBS_BARE = 5_000
_WARM_JOBS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The scheduler's CPU time by step, in µs per job."""

    by_step: dict[str, float]
    whole_us: float
    kernel_us: float
    """The kernel's part in all of them together."""


def bare_us(context: Context, dsn: str, seconds: float) -> float:
    """Let the minimal dispatcher lead in the scheduler's place; return its CPU in µs/job."""
    with live.running(context.fairlead, dsn, scheduler=BARE) as running:
        live.warm_up(running, _WARM_JOBS_BARE)
        window = live.watch(running, seconds)
    say(
        f"  a bare dispatcher: {window.scheduler_us_per_job:.2f} us/job"
        f" at {window.rate:,.0f} jobs/s"
    )
    return window.scheduler_us_per_job


def split(context: Context, dsn: str, seconds: float) -> Split:
    """Run a scheduler with clocks at its steps, and measure each step."""
    with live.running(context.fairlead, dsn, scheduler=_WITH_CLOCKS) as running:
        live.warm_up(running, _WARM_JOBS)
        clocks, pid = steps.Clocks(running.probes.path), running.scheduler.pid
        before, kernel = clocks.seconds(), system_cpu_seconds(pid)
        window = live.watch(running, seconds)
        after, kernel = clocks.seconds(), system_cpu_seconds(pid) - kernel
    parts = steps.split(before, after, window.scheduler_cpu_seconds)
    per_job = 1e6 / max(1, window.jobs)
    by_step = {key: spent * per_job for key, spent in parts.items()}
    by_label = ", ".join(f"{steps.LABELS[key]} {us:.2f}" for key, us in by_step.items())
    say(f"  the scheduler's CPU by step, us/job: {by_label}")
    return Split(
        by_step=by_step,
        whole_us=window.scheduler_us_per_job,
        kernel_us=kernel * per_job,
    )
