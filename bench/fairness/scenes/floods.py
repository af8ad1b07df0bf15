"""What a tenant can do by inserting alone: how much, how fast, and under how many names.

Two tenants are backlogged and a quiet one inserts four short jobs a second, as beside attacks.
What a flood has to be compared with is a third tenant that is backlogged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from bench.context import say
from bench.fairness.postgres import exposition, fleet, replay
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.neighbours import neighbours, quiet_waits
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.processes import BrokenRunError, memory
from bench.server import Server
from fairlead_scheduler.simulation.trace import Arrival

_JOIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """What the attacker's sessions repeat while the others work."""

    statement: bytes = b""
    """Its parameter counts the repeats; empty: none."""
    every_seconds: float = 0.0
    """How long from one repeat to the next; 0: as fast as it can."""
    sessions: int = 1
    before: bytes = b""
    """Run once, before any process starts."""


_BACKLOG = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select 'q', 'liar', 'plain', '{"seconds": 0.2}' from generate_series(1, 2600)
"""
_BATCH = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select 'q', 'liar', 'plain', '{"seconds": 0.2}' from generate_series(1, 1000)
where %s >= 0
"""
_SINGLE = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select 'q', 'liar', 'plain', '{"seconds": 0.2}' where %s >= 0
"""
_LARGE = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select 'q', 'liar', 'plain', jsonb_build_object('seconds', 0.2, 'text', t.text)
from (select string_agg(md5(random()::text), '') as text from generate_series(1, 3125)) t,
     generate_series(1, 100)
where %s >= 0
"""
_NAMED = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select %b, '{"seconds": 0}'
from (select repeat('f', 100) || %%s * 40 + n as name from generate_series(1, 40) n) f
"""
_QUEUES = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select 'f' || n, 'liar', 'empty', '{"seconds": 0}' from generate_series(1, 100000) n
"""
_SCHEDULES = b"""
insert into fairlead.schedules (tenant, name, queue, kind, cron, payload)
select 'liar', 'schedule ' || n, 'q', 'plain', '* * * * * *', '{"seconds": 0.2}'
from generate_series(1, 10000) n
"""
_WITHOUT = Flood(before=_BACKLOG)
FLOODS: Mapping[str, Flood] = {
    "batches of 1,000": Flood(statement=_BATCH),
    "one job a transaction": Flood(statement=_SINGLE, sessions=4),
    "payloads of 100 kB": Flood(statement=_LARGE),
    "10,000 schedules each second": Flood(before=_SCHEDULES),
    "400 fresh tenants a second": Flood(
        statement=_NAMED % b"'q', name, 'empty'", every_seconds=0.1
    ),
    "400 fresh queues a second": Flood(
        statement=_NAMED % b"name, 'liar', 'empty'", every_seconds=0.1
    ),
    "400 fresh kinds a second": Flood(
        statement=_NAMED % b"'q', 'liar', name", every_seconds=0.1
    ),
    "100,000 queues at once": Flood(before=_QUEUES),
}


def play(server: Server, workload: Workload, _trace: Sequence[Arrival], _seed: int) -> Found:
    """Play every flood, and once the attacker's backlog."""
    without = _had(server, workload, _WITHOUT)
    compared = {"quiet_p99_without_seconds": without["quiet_p99_seconds"]}
    rows: dict[str, Figures] = {"a backlog": without}
    for name, flood in FLOODS.items():
        rows[name] = {**_had(server, workload, flood), **compared}
        say(f"  {name}: {rows[name]}")
    return Found(rows=rows, evaluated=worst(rows))


def worst(rows: Mapping[str, Figures]) -> Figures:
    """Return the worst figures of all floods, those that have targets."""
    return {
        "quiet_p99_over_without": max(
            row["quiet_p99_seconds"] / row["quiet_p99_without_seconds"]
            for row in rows.values()
            if "quiet_p99_without_seconds" in row
        ),
        "leader_mib": max(row["leader_mib"] for row in rows.values()),
    }


def _had(server: Server, workload: Workload, flood: Flood) -> dict[str, float]:
    """Return what the quiet tenant and the leader had beside a flood."""
    honest = neighbours(int(workload.seconds))
    port = exposition.free_port()
    with fleet.database(server) as (connection, dsn):
        if flood.before:
            connection.execute(flood.before)
        there = fleet.fill(connection, honest)
        with fleet.running(connection, dsn, slots=workload.slots, health_port=port) as own:
            before = exposition.ask(port)
            with _flooding(dsn, flood):
                fleet.feed(connection, honest, there, workload.until_us, lambda _: None)
                ticks = exposition.ask(port).since(before).ticks
                leader_mib = memory(own.children[0].pid).rss_mib
            own.check()
            played = replay.read(connection, own.begun_us, honest, workload.until_us)
    waits = quiet_waits(played, workload.until_us)
    return {
        "quiet_p50_seconds": percentile(waits, 0.5),
        "quiet_p99_seconds": percentile(waits, 0.99),
        "tick_p99_ms": exposition.quantile_seconds(ticks, 0.99) * 1000,
        "leader_mib": leader_mib,
    }


@contextmanager
def _flooding(dsn: str, flood: Flood) -> Generator[None]:
    """Repeat the flood's statement in its sessions.

    Raises:
        BrokenRunError: A session ended with an error.
    """
    stop, failures = threading.Event(), list[Exception]()

    def repeat(session: int) -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as connection:
                run, due = session, time.monotonic()
                while not stop.is_set():
                    connection.execute(flood.statement, [run])
                    run, due = run + flood.sessions, due + flood.every_seconds
                    if flood.every_seconds:
                        stop.wait(max(0.0, due - time.monotonic()))
        except psycopg.Error as error:
            failures.append(error)

    threads = [
        threading.Thread(target=repeat, args=(session,), daemon=True)
        for session in range(flood.sessions if flood.statement else 0)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(_JOIN_SECONDS)
    if failures:
        raise BrokenRunError(f"a session of the flood ended: {failures[0]}")
