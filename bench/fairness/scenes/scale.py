"""The leader's cost as backlogs and tenants grow, with one fleet per size side by side.

All fleets run all the time, and all queues but one are paused, so the sizes take turns every
few seconds without a start in between. A rate keeps the machine far from its limits, and as
many jobs arrive as finish, which keeps a backlog at its length. At the end the longest one is
drained at full speed. CPU time is the kernel's count for the scheduler process; jobs dispatched
and tick durations come from its own metrics.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import psycopg

from bench import explain, statement_log
from bench.context import say
from bench.fairness.postgres import backlogs, exposition, fleet
from bench.fairness.postgres.exposition import Counters
from bench.fairness.postgres.fleet import Fleet
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Filled, Tenants, Workload
from bench.processes import task_cpu_seconds
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_cli.dev.ports import free_port
from fairlead_scheduler.simulation.trace import Arrival

_SMALLEST = 10_000
_FEW_TENANTS = 10
_SETTLE_SECONDS, _WATCH_SECONDS = 0.6, 1.8
_LOGGED_SECONDS = 1.0
_DRAINED_SECONDS = 4.0
_PER_SECOND = 4000
_RATE = {"limit": _PER_SECOND, "per": "1s", "burst": _PER_SECOND // 20}
_FEED_SECONDS = 0.02
_PAUSE = b"select fairlead.pause(%s)"
_RESUME = b"select fairlead.resume(%s)"


@dataclass(frozen=True, slots=True)
class Size:
    """Number of waiting jobs and of their tenants."""

    jobs: int
    tenants: int

    @property
    def name(self) -> str:
        """The size in words."""
        return f"{self.jobs:,} jobs of {self.tenants:,} tenants"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Measurements of one fleet over some seconds."""

    seconds: float
    cpu_seconds: float
    said: Counters

    @property
    def cpu_us(self) -> float:
        """The scheduler's CPU time per dispatched job."""
        return self.cpu_seconds / max(1, self.said.dispatched) * 1e6


@dataclass(slots=True, kw_only=True)
class _Site:
    """One size with its database and its fleet."""

    size: Size
    tenants: Tenants
    database: str
    own: Fleet
    port: int
    seed: int
    inserted: int
    watched: list[Watched] = field(default_factory=list[Watched])

    @property
    def scheduler(self) -> int:
        """The scheduler's process id."""
        return self.own.children[0].pid

    def pace(self, *, limited: bool) -> None:
        """Set or remove the queue's rate limit."""
        queue = {"match": {"queue": self.tenants.queue}, "rate": _RATE}
        policy = {"queues": [queue] if limited else []}
        store(self.own.connection, json.dumps(policy), reason="bench")

    def pause(self) -> None:
        """Pause the queue."""
        self.own.connection.execute(_PAUSE, (self.tenants.queue,))

    def resume(self) -> None:
        """Resume the queue."""
        self.own.connection.execute(_RESUME, (self.tenants.queue,))

    def feed(self, seconds: float) -> None:
        """Insert as many jobs as the rate dispatches."""
        begun, first = time.monotonic(), self.inserted
        while (elapsed := time.monotonic() - begun) < seconds:
            due = first + int(elapsed * _PER_SECOND)
            if due > self.inserted:
                numbers = range(self.inserted, due)
                backlogs.insert(self.own.connection, self.tenants, numbers, self.seed)
                self.inserted = due
            time.sleep(_FEED_SECONDS)

    def watch(self, meanwhile: Callable[[float], None], seconds: float) -> Watched:
        """Measure it for a while, without the scheduler's cost of serving the metrics."""
        said, begun = exposition.ask(self.port), time.monotonic()
        cpu = task_cpu_seconds(self.scheduler)
        meanwhile(seconds)
        cpu, took = task_cpu_seconds(self.scheduler) - cpu, time.monotonic() - begun
        said = exposition.ask(self.port).since(said)
        return Watched(seconds=took, cpu_seconds=cpu, said=said)

    def turn(self) -> None:
        """Resume the queue for a while, and measure it once it has settled."""
        self.resume()
        self.feed(_SETTLE_SECONDS)
        self.watched.append(self.watch(self.feed, _WATCH_SECONDS))
        self.pause()

    def drain(self) -> Watched:
        """Run the queue at full speed, and measure that."""
        self.pace(limited=False)
        self.resume()
        time.sleep(_SETTLE_SECONDS)
        return self.watch(time.sleep, _DRAINED_SECONDS)


def sizes(jobs: int, tenants: int) -> tuple[Size, ...]:
    """Return the sizes up to the largest; the smallest also with few tenants."""
    lengths = [_SMALLEST]
    while lengths[-1] * 10 <= jobs:
        lengths.append(lengths[-1] * 10)
    return (Size(_SMALLEST, _FEW_TENANTS), *(Size(length, tenants) for length in lengths))


def play(server: Server, workload: Workload, _trace: Sequence[Arrival], seed: int) -> Found:
    """Let the sizes take turns until the time is over."""
    (tenants,) = workload.tenants
    chosen = sizes(workload.filled, tenants.count)
    turn_seconds = len(chosen) * (_SETTLE_SECONDS + _WATCH_SECONDS)
    with ExitStack() as stack:
        sites = [
            stack.enter_context(_site(server, workload, tenants, size, seed)) for size in chosen
        ]
        for turn in range(max(1, round(workload.seconds / turn_seconds))):
            for site in sites if turn % 2 else sites[::-1]:
                site.turn()
        buffers = [_select_buffers(server, site) for site in sites]
        drained = sites[-1].drain()
        for site in sites:
            site.own.check()
    rows = {
        site.size.name: _row(together(site.watched), read)
        for site, read in zip(sites, buffers, strict=True)
    }
    evaluated = _evaluated(rows, drained)
    few, smallest, largest = (sites[place].watched for place in (0, 1, -1))
    return Found(
        rows={**rows, f"{sites[-1].size.name}, at full speed": _row(drained, None)},
        evaluated={
            **evaluated,
            "cpu_slope_of_jobs": slope(smallest, largest),
            "cpu_slope_of_tenants": slope(few, smallest),
        },
    )


@contextmanager
def _site(
    server: Server, workload: Workload, tenants: Tenants, size: Size, seed: int
) -> Generator[_Site]:
    """Fill a database and start a fleet, whose queue is paused."""
    name = f"scale_{size.jobs}_{size.tenants}"
    arrivals = Filled(form="filled", jobs=size.jobs // size.tenants)
    own_tenants = tenants.model_copy(update={"count": size.tenants, "arrivals": arrivals})
    with fleet.database(server, name) as (connection, dsn):
        backlogs.fill(
            server, name, workload.model_copy(update={"tenants": (own_tenants,)}), seed
        )
        port, slots = free_port(), workload.slots
        with fleet.running(connection, dsn, slots=slots, health_port=port) as own:
            site = _Site(
                size=size,
                tenants=own_tenants,
                database=name,
                own=own,
                port=port,
                seed=seed,
                inserted=size.jobs,
            )
            site.pause()
            site.pace(limited=True)
            say(f"  {size.name} wait")
            yield site


def _select_buffers(server: Server, site: _Site) -> float:
    """Log its statements for a moment, and explain those that read jobs."""
    statement_log.switch_all_on(server, with_parameters=True)
    first = statement_log.position(server)
    try:
        site.resume()
        site.feed(_LOGGED_SECONDS)
        site.pause()
        last = statement_log.position(server)
    finally:
        statement_log.switch_all_off(server)
    sent = statement_log.parameters(server.log, first, last, "refill")
    with psycopg.connect(server.dsn(site.database)) as connection:
        return explain.select_buffers(connection, sent)


def _row(watched: Watched, buffers: float | None) -> Figures:
    ticks = watched.said.ticks
    found = {
        "cpu_us": watched.cpu_us,
        "tick_p50_ms": exposition.quantile_seconds(ticks, 0.5) * 1000,
        "tick_p99_ms": exposition.quantile_seconds(ticks, 0.99) * 1000,
        "jobs_per_second": watched.said.dispatched / watched.seconds,
    }
    return found if buffers is None else {**found, "buffers_per_job": buffers}


def _evaluated(rows: Mapping[str, Figures], drained: Watched) -> Figures:
    """Return the largest figures of all sizes, and the CPU time at full speed."""
    largest = {
        name: max(row[name] for row in rows.values())
        for name in ("buffers_per_job", "tick_p99_ms")
    }
    return {"cpu_us": drained.cpu_us, **largest}


def slope(small: Sequence[Watched], large: Sequence[Watched]) -> float:
    """Return the relative extra cost of the larger size, over all turns."""
    return together(large).cpu_us / together(small).cpu_us - 1


def together(watched: Sequence[Watched]) -> Watched:
    """Return the sum of all turns: the leader's periodic work falls into some of them only."""
    return Watched(
        seconds=sum(each.seconds for each in watched),
        cpu_seconds=sum(each.cpu_seconds for each in watched),
        said=exposition.together([each.said for each in watched]),
    )
