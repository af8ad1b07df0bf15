"""Fairlead under a steady load, and measured intervals of it."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import plain_sql
from bench.fairlead_contender import SCHEDULER, FairleadContender
from bench.probe import ProbeFolder
from bench.processes import Child, descendants, task_cpu_seconds, wait_until

_WARM_JOBS = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A scheduler and a worker that run against one database."""

    dsn: str
    insert: str
    folder: Path
    scheduler: Child
    worker: Child
    probes: ProbeFolder

    @property
    def children(self) -> tuple[Child, ...]:
        """Return the processes to check."""
        return (self.scheduler, self.worker)

    def worker_pids(self) -> tuple[int, ...]:
        """Return the worker parent's process id and those below it."""
        return descendants(self.worker.pid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Counts of some seconds of load."""

    seconds: float
    jobs: int
    scheduler_cpu_seconds: float

    @property
    def rate(self) -> float:
        """Return jobs started per second."""
        return self.jobs / self.seconds

    @property
    def scheduler_us_per_job(self) -> float:
        """Return the scheduler's own CPU time per job."""
        return self.scheduler_cpu_seconds / max(1, self.jobs) * 1e6


@contextlib.contextmanager
def running(
    fairlead: FairleadContender,
    dsn: str,
    *,
    processes: int = 1,
    scheduler: Sequence[str] = SCHEDULER,
) -> Generator[Live]:
    """Run a scheduler and a worker; stop them, the worker first, at the end.

    Another command may lead in the scheduler's place.
    """
    with tempfile.TemporaryDirectory(prefix="bench-live-") as name:
        folder = Path(name)
        probes = ProbeFolder(folder / "probes")
        leader = fairlead.start_scheduler(dsn, folder, scheduler)
        try:
            worker = fairlead.start_worker(dsn, folder, processes=processes)
            try:
                yield Live(
                    dsn=dsn,
                    insert=fairlead.insert,
                    folder=folder,
                    scheduler=leader,
                    worker=worker,
                    probes=probes,
                )
            finally:
                worker.stop()
        finally:
            leader.stop()


@contextlib.contextmanager
def feeding(live: Live, *, backlog: int) -> Generator[Child]:
    """Keep `backlog` jobs waiting, in addition to those that waited before."""
    feeder = plain_sql.feed(
        live.dsn, live.insert, backlog=backlog, probes=live.probes.path, folder=live.folder
    )
    try:
        yield feeder
    finally:
        feeder.stop()


def warm_up(live: Live, jobs: int = _WARM_JOBS) -> None:
    """Wait until some thousand handlers have started."""
    goal = live.probes.count() + jobs
    wait_until(
        f"{jobs} jobs start", lambda: live.probes.count() >= goal, watching=live.children
    )


def watch(live: Live, seconds: float) -> Window:
    """Count the handlers' starts and the scheduler's CPU time for some seconds."""
    cpu, jobs, begun = (
        task_cpu_seconds(live.scheduler.pid),
        live.probes.count(),
        time.monotonic(),
    )
    time.sleep(seconds)
    for child in live.children:
        child.check()
    return Window(
        jobs=live.probes.count() - jobs,
        seconds=time.monotonic() - begun,
        scheduler_cpu_seconds=task_cpu_seconds(live.scheduler.pid) - cpu,
    )
