"""A forgotten transaction during a flood: from its snapshot on, no dead row can be removed.

The dispatch and claim statements are timed by the server's log before the snapshot is taken and
at the end of the time in which it is held.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import psycopg

from bench import statement_log
from bench.context import say
from bench.fairness.postgres import fleet, replay
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.server import Server
from bench.statement_log import Durations
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival

_WARM_SECONDS = 6.0
_WATCHED_SECONDS_MAX = 120.0
_US = 1e6
_STATEMENTS = ("dispatch", "claim")
_DEAD = b"""
select sum(n_dead_tup)::bigint from pg_stat_user_tables
where schemaname = 'fairlead' and relname in ('work_queue', 'jobs')
"""


class _Watched(NamedTuple):
    """A measured interval: by the trace's clock, and the log's position."""

    from_us: float
    until_us: float
    first: int
    last: int
    dead: int


@dataclass(slots=True)
class _Clock:
    """Does what is due: measure, take the snapshot, hold it, and measure again."""

    server: Server
    connection: psycopg.Connection
    holder: psycopg.Connection
    each_us: float
    until_us: float
    watched: list[_Watched] = field(default_factory=list[_Watched])
    _began: tuple[float, int] | None = None

    def act(self, now_us: float) -> None:
        """Do what is due."""
        second = bool(self.watched)
        due_us = self.until_us - self.each_us if second else _WARM_SECONDS * _US
        if self._began is None:
            if len(self.watched) < 2 and now_us >= due_us:
                statement_log.switch_all_on(self.server)
                self._began = (now_us, statement_log.position(self.server))
        elif now_us >= self._began[0] + self.each_us:
            self.end(now_us)

    def end(self, now_us: float) -> None:
        """End the interval; after the first one take the snapshot."""
        if self._began is None:
            return
        dead = int(str(fleet.one(self.connection, _DEAD)[0]))
        last = statement_log.position(self.server)
        self.watched.append(_Watched(self._began[0], now_us, self._began[1], last, dead))
        self._began = None
        statement_log.switch_all_off(self.server)
        if len(self.watched) == 1:
            self.holder.execute(b"begin isolation level repeatable read")
            self.holder.execute(b"select from fairlead.leaders")
            say("  the snapshot is taken")


def play(server: Server, workload: Workload, trace: Sequence[Arrival], _seed: int) -> Found:
    """Feed the flood; hold a snapshot from the end of the first interval on."""
    each_us = watched_seconds(workload.seconds) * _US
    with fleet.database(server) as (connection, dsn):
        there = fleet.fill(connection, trace)
        with (
            _quiet_log(server),
            server.connect(connection.info.dbname) as holder,
            fleet.running(connection, dsn, slots=workload.slots) as own,
        ):
            clock = _Clock(server, connection, holder, each_us, workload.until_us)
            fleet.feed(connection, trace, there, workload.until_us, clock.act)
            clock.end(workload.until_us)
            own.check()
            played = replay.read(connection, own.begun_us, trace, workload.until_us)
            holder.execute(b"rollback")
    rows = {
        name: _row(each, statement_log.read(server.log, each.first, each.last), played)
        for name, each in zip(("before", "with a snapshot"), clock.watched, strict=True)
    }
    return Found(rows=rows, evaluated=over_baseline(*rows.values()))


def watched_seconds(seconds: float) -> float:
    """Return the length of each interval: a third of what is left after warming up."""
    return min(_WATCHED_SECONDS_MAX, (seconds - _WARM_SECONDS) / 3)


def over_baseline(before: Figures, later: Figures) -> Figures:
    """Return the slowest statements of the later interval over those of the first."""
    return {
        f"{name}_p99_over_baseline": later[f"{name}_p99_ms"] / before[f"{name}_p99_ms"]
        for name in _STATEMENTS
    }


def _row(watched: _Watched, took: Durations, played: Sequence[JobOutcome]) -> Figures:
    found: dict[str, float] = {}
    for name in _STATEMENTS:
        for label, share in (("p50", 0.5), ("p99", 0.99)):
            found[f"{name}_{label}_ms"] = percentile(took.of(name), share)
    waits = quiet_us(played, watched.from_us, watched.until_us)
    return {
        **found,
        "quiet_p99_seconds": percentile(waits, 0.99) / _US,
        "rows_dead": watched.dead,
    }


def quiet_us(played: Sequence[JobOutcome], from_us: float, until_us: float) -> list[float]:
    """Return the waits of quiet jobs that arrived in an interval, at most until its end."""
    return [
        (until_us if each.claimed_us is None else each.claimed_us) - each.arrival.at_us
        for each in played
        if each.arrival.group == "quiet" and from_us <= each.arrival.at_us < until_us
    ]


@contextmanager
def _quiet_log(server: Server) -> Generator[None]:
    """Restore the server's logging on exit."""
    try:
        yield
    finally:
        statement_log.switch_all_off(server)
