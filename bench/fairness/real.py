"""The same trace on real PostgreSQL, with a real scheduler and a real worker whose jobs sleep.

What is there at the start is inserted before anybody runs; the clock starts when the worker has
registered. From then on each job is inserted when its time has come. Inserts and claims are
read from the database afterwards, by its clock: a wait begins with the insert, and not when the
scheduler has noticed it, which is what `runnable_at` says.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import psycopg

from bench.fairlead_contender import PYTHONPATH, FairleadContender
from bench.fairness.weights import Edit, Weights, document
from bench.processes import Child, start, wait_until
from bench.server import Server
from fairlead.policy_store import store
from fairlead_scheduler.simulation.fleet import Played
from fairlead_scheduler.simulation.trace import Arrival

_DATABASE = "fairness"
_BATCH = 1000
_PAUSE_SECONDS = 0.002
_INSERT = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select queue, tenant, 'sleep', payload
from unnest(%s::text[], %s::text[], %s::jsonb[]) as new (queue, tenant, payload)
"""
_DISPATCHED = b"select exists (select from fairlead.work_queue)"
_REGISTERED = b"select (extract(epoch from clock_timestamp()) * 1e6)::bigint, count(*)\
 from fairlead.workers"
_PLAYED = b"""
select (h.payload ->> 'n')::int, (extract(epoch from h.created_at) * 1e6)::bigint,
       (extract(epoch from h.claimed_at) * 1e6)::bigint
from fairlead.job_history h where h.kind = 'sleep'
union all
select (j.payload ->> 'n')::int, (extract(epoch from j.created_at) * 1e6)::bigint,
       (extract(epoch from q.claimed_at) * 1e6)::bigint
from fairlead.work_queue q join fairlead.jobs j on j.id = q.job_id where q.worker is not null
"""


class Moment(NamedTuple):
    """Something that is done while a trace is played; it must not take long."""

    at_us: int
    act: Callable[[psycopg.Connection], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fleet:
    """A scheduler and a worker, and when the worker had registered."""

    children: tuple[Child, ...]
    begun_us: int


def play(
    server: Server,
    trace: Sequence[Arrival],
    *,
    slots: int,
    until_us: int,
    edits: Sequence[Edit],
) -> tuple[Played, ...]:
    """Play a trace on a database of its own, and return what became of its jobs.

    The first edit, at 0, is the policy that is stored before anybody runs.

    Raises:
        BrokenRunError: A process ended, or did not start in time.
    """
    moments = [Moment(each.at_us, partial(_weigh, each.weights)) for each in edits]
    return run(server, trace, slots=slots, until_us=until_us, moments=moments)


def run(
    server: Server,
    trace: Sequence[Arrival],
    *,
    slots: int,
    until_us: int,
    moments: Sequence[Moment],
) -> tuple[Played, ...]:
    """Play a trace, and act at some moments: before anybody runs at those that are 0.

    Raises:
        BrokenRunError: A process ended, or did not start in time.
    """
    dsn = server.create_database(_DATABASE)
    FairleadContender().install(dsn)
    there = sum(job.at_us == 0 for job in trace)
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        for first in range(0, there, _BATCH):
            _insert(connection, trace, first, min(there, first + _BATCH))
        connection.execute("analyze")
        for moment in moments:
            if moment.at_us == 0:
                moment.act(connection)
        later = deque(moment for moment in moments if moment.at_us > 0)
        with _running(connection, dsn, slots) as fleet:
            _feed(connection, trace, there, later, until_us)
            for child in fleet.children:
                child.check()
            found = _read(connection, fleet.begun_us, trace, until_us)
    server.drop_database(_DATABASE)
    return found


@contextmanager
def _running(connection: psycopg.Connection, dsn: str, slots: int) -> Generator[_Fleet]:
    """Run a scheduler and then a worker; both are killed at the end, with their jobs."""
    with tempfile.TemporaryDirectory(prefix="bench-fairness-") as name:
        children: list[Child] = []
        try:
            children.append(_start("scheduler", [], dsn, Path(name)))
            if _one(connection, b"select exists (select from fairlead.jobs)")[0]:
                wait_until(
                    "the first jobs are dispatched",
                    lambda: bool(_one(connection, _DISPATCHED)[0]),
                    watching=children,
                )
            app = ["--app", "fairness_app:tasks", "--concurrency", str(slots)]
            children.append(_start("worker", app, dsn, Path(name)))
            wait_until(
                "the worker registers",
                lambda: bool(_one(connection, _REGISTERED)[1]),
                watching=children,
            )
            begun_us = int(str(_one(connection, _REGISTERED)[0]))
            yield _Fleet(children=tuple(children), begun_us=begun_us)
        finally:
            for child in reversed(children):
                child.kill()


def _start(name: str, arguments: Sequence[str], dsn: str, folder: Path) -> Child:
    environment = {
        "FAIRLEAD_DATABASE_URL": dsn,
        "PYTHONPATH": PYTHONPATH,
    }
    command = Path(sys.executable).parent / f"fairlead-{name}"
    argv = [str(command), *arguments]
    return start(name, argv, log=folder / f"{name}.log", environment=environment, folder=folder)


def _one(connection: psycopg.Connection, query: bytes) -> tuple[object, ...]:
    row = connection.execute(query).fetchone()
    assert row is not None
    return tuple(row)


def _feed(
    connection: psycopg.Connection,
    trace: Sequence[Arrival],
    first: int,
    moments: deque[Moment],
    until_us: int,
) -> None:
    """Insert each job, and act at each moment, when its time has come, until it is over."""
    begun = time.monotonic()
    place = first
    while (now_us := (time.monotonic() - begun) * 1e6) < until_us:
        if moments and moments[0].at_us <= now_us:
            moments.popleft().act(connection)
        due = place
        while due < len(trace) and due < place + _BATCH and trace[due].at_us <= now_us:
            due += 1
        if due > place:
            _insert(connection, trace, place, due)
            place = due
        else:
            time.sleep(_PAUSE_SECONDS)


def _weigh(weights: Weights, connection: psycopg.Connection) -> None:
    """Store a policy, which wakes the scheduler."""
    store(connection, json.dumps(document(weights)), reason="bench")


def _insert(
    connection: psycopg.Connection, trace: Sequence[Arrival], first: int, end: int
) -> None:
    jobs = trace[first:end]
    payloads = [
        json.dumps({"n": number, "seconds": job.cost_us / 1e6})
        for number, job in enumerate(jobs, first)
    ]
    columns = ([job.queue for job in jobs], [job.tenant for job in jobs], payloads)
    connection.execute(_INSERT, columns)


def _read(
    connection: psycopg.Connection, begun_us: int, trace: Sequence[Arrival], until_us: int
) -> tuple[Played, ...]:
    """Read what became of the jobs; what was not claimed has its time from the trace.

    A job had its slot for as long as it slept: its ending is stored a little later, together
    with others, when its slot has been taken again.
    """
    found = [Played(arrival, None, None) for arrival in trace]
    rows = connection.execute(_PLAYED).fetchall()
    for number, inserted_us, claimed_us in cast("list[tuple[int, int, int]]", rows):
        at_us = max(0, inserted_us - begun_us)
        claimed = max(0, claimed_us - begun_us)
        if at_us < until_us and claimed < until_us:
            job = trace[number]
            ended = claimed + job.cost_us
            arrival = job._replace(at_us=min(at_us, claimed))
            found[number] = Played(arrival, claimed, ended if ended <= until_us else None)
    return tuple(found)
