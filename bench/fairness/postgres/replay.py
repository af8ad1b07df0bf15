"""The same trace on real PostgreSQL, with a real scheduler and a real worker whose jobs sleep.

Inserts and claims are read from the database afterwards, by its clock: a wait begins with the
insert, not when the scheduler discovers the job, which is `runnable_at`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

import psycopg

from bench.fairness.postgres import fleet
from bench.fairness.postgres.costs import Meter
from bench.fairness.results.outcome import Observed
from bench.fairness.traffic.weights import Edit, document
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival

_PLAYED = b"""
select (h.payload ->> 'n')::int, (extract(epoch from h.created_at) * 1e6)::bigint,
       (extract(epoch from h.claimed_at) * 1e6)::bigint
from fairlead.job_history h where h.kind = 'sleep'
union all
select (j.payload ->> 'n')::int, (extract(epoch from j.created_at) * 1e6)::bigint,
       (extract(epoch from q.claimed_at) * 1e6)::bigint
from fairlead.work_queue q join fairlead.jobs j on j.id = q.job_id
where q.worker is not null and j.kind = 'sleep'
"""


class Moment(NamedTuple):
    """An action during a run; it must be quick."""

    at_us: int
    act: Callable[[psycopg.Connection], None]


def play(
    server: Server,
    trace: Sequence[Arrival],
    *,
    slots: int,
    until_us: int,
    edits: Sequence[Edit],
) -> Observed:
    """Run a trace on a database of its own, and return the outcomes of its jobs.

    The first edit, at 0, is the policy that is stored before any process starts.

    Raises:
        BrokenRunError: A process ended, or did not start in time.
    """
    moments = [Moment(each.at_us, partial(_apply, each)) for each in edits]
    return run(server, trace, slots=slots, until_us=until_us, moments=moments)


def run(
    server: Server,
    trace: Sequence[Arrival],
    *,
    slots: int,
    until_us: int,
    moments: Sequence[Moment],
) -> Observed:
    """Run a trace with actions at some moments; those at 0 run before any process starts.

    Raises:
        BrokenRunError: A process ended, or did not start in time.
    """
    with fleet.database(server) as (connection, dsn):
        there = fleet.fill(connection, trace)
        for moment in moments:
            if moment.at_us == 0:
                moment.act(connection)
        later = deque(moment for moment in moments if moment.at_us > 0)

        def act(now_us: float) -> None:
            if later and later[0].at_us <= now_us:
                later.popleft().act(connection)

        with fleet.running(connection, dsn, slots=slots) as own:
            meter = Meter(connection, own.children[0])
            fleet.feed(connection, trace, there, until_us, act)
            own.check()
            costs = meter.costs()
            return Observed(read(connection, own.begun_us, trace, until_us), costs)


def _apply(edit: Edit, connection: psycopg.Connection) -> None:
    """Store a policy, which wakes the scheduler."""
    store(connection, json.dumps(document(edit.weights, edit.rules)), reason="bench")


def read(
    connection: psycopg.Connection, begun_us: int, trace: Sequence[Arrival], until_us: int
) -> tuple[JobOutcome, ...]:
    """Read the outcomes of the jobs; an unclaimed one has its arrival from the trace.

    A job occupied its slot for as long as it slept: its ending is stored a little later,
    together with others, when the slot is in use again.
    """
    found = [JobOutcome(arrival, None, None) for arrival in trace]
    rows = connection.execute(_PLAYED).fetchall()
    for number, inserted_us, claimed_us in cast("list[tuple[int, int, int]]", rows):
        at_us = max(0, inserted_us - begun_us)
        claimed = max(0, claimed_us - begun_us)
        if at_us < until_us and claimed < until_us:
            job = trace[number]
            ended = claimed + job.cost_us
            arrival = job._replace(at_us=min(at_us, claimed))
            found[number] = JobOutcome(arrival, claimed, ended if ended <= until_us else None)
    return tuple(found)
