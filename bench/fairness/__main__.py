"""`python -m bench.fairness`: one table of targets and measurements.

Workloads run under Fairlead's order and reference policies in simulated time, and under
Fairlead itself on PostgreSQL; scenes, which act on the fleet, run on PostgreSQL only. Exit code
1 for a broken run; with `--strict` for a missed target too.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from bench import machine
from bench.context import say
from bench.fairness.arguments import Arguments, arguments
from bench.fairness.evaluation import evaluate
from bench.fairness.results import picture, report
from bench.fairness.results.outcome import middle
from bench.fairness.results.record import record, record_some
from bench.fairness.results.table import rows
from bench.fairness.traffic.generate import generate
from bench.fairness.traffic.workload import WorkloadRefusedError, load
from bench.processes import BrokenRunError
from fairlead.policy import PolicyRefused
from fairlead_scheduler.simulation import trace
from fairlead_scheduler.simulation.trace import TraceRefusedError


def _leave(number: int, _frame: FrameType | None) -> None:
    """Exit as on an interruption, so that every started process is stopped."""
    raise SystemExit(128 + number)


def _run(given: Arguments) -> int:
    if given.export is not None:
        jobs = generate(load(given.workloads[0], given.form), given.seeds[0])
        trace.write(given.export, jobs)
        say(f"written to {given.export}")
        return 0
    signal.signal(signal.SIGTERM, _leave)
    begun, described = time.monotonic(), machine.describe()
    found = evaluate(given)
    run = report.Run(
        form=given.form,
        seeds=given.seeds,
        machine=described,
        seconds=time.monotonic() - begun,
        postgres=found.postgres,
        failures=tuple(found.failures),
    )
    runs = list(found.runs.values())
    report.show(runs, run)
    written = report.write(runs, run, given.output)
    say(f"written to {written}")
    compared = [middle(of_one) for of_one in runs if not of_one[0].is_scene]
    if compared:
        drawn = given.picture or written.with_suffix(".png")
        picture.draw(drawn, compared)
        say(f"drawn into {drawn}")
    for failure in found.failures:
        print(f"bench.fairness: {failure}", file=sys.stderr)
    if given.record and not found.failures:
        (record_some if given.some else record)(runs, run)
    missed = given.strict and any(row.missed for row in rows(runs))
    return 1 if missed or found.failures else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    try:
        return _run(arguments(argv, __doc__ or ""))
    except (PolicyRefused, TraceRefusedError, WorkloadRefusedError, OSError) as error:
        print(f"bench.fairness: {error}", file=sys.stderr)
        return 2
    except BrokenRunError as error:
        print(f"bench.fairness: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
