"""P3: the cost of an INSERT into fairlead.jobs against the cheapest tables that hold a job.

Slices of a fraction of a second alternate between the tables, so that the machine's noise falls
on all of them. No scheduler runs: the question is what the table, its constraints and its
triggers cost, and the other tables have no reader either.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import psycopg

from bench.context import Context, say
from bench.figures import paired_ratio
from bench.outcome import Figure, Outcome, Row, figure, ratio
from bench.processes import task_cpu_seconds
from bench.producer import connect, payload
from bench.rounds import template

_SLICES_QUICK, _SLICES_LONG = 30, 60
_SLICE_SECONDS = 0.2
_BATCH = 1000
_BODIES = tuple(payload(index) for index in range(_BATCH))

_TABLES = (
    """create table one_index (
        id bigint generated always as identity primary key,
        kind text not null, payload jsonb not null)""",
    """create table bare (
        like fairlead.jobs including defaults including identity including generated)""",
    "create index bare_lane on bare (queue, tenant, rank, seq) where run_at is null",
)


@dataclass(frozen=True, slots=True)
class Target:
    """One table to insert into."""

    key: str
    table: str

    @property
    def one(self) -> bytes:
        """Return the statement for one job."""
        return f"insert into {self.table} (kind, payload) values ('bench', %s)".encode()

    @property
    def many(self) -> bytes:
        """Return the statement for a batch."""
        insert = f"insert into {self.table} (kind, payload)"
        return f"{insert} select 'bench', unnest(%s::jsonb[])".encode()


Turn = dict[str, "Slice"]
Bodies = str | list[str]
_TARGETS = (
    Target("fairlead", "fairlead.jobs"),
    Target("one_index", "one_index"),
    Target("bare", "bare"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One slice: jobs per second, and the server's CPU time in µs per job."""

    rate: float
    cpu_us: float


def _slice(connection: psycopg.Connection, query: bytes, bodies: Bodies, jobs: int) -> Slice:
    """Repeat one INSERT of `jobs` jobs for the length of a slice."""
    pid = connection.info.backend_pid
    cpu, begun = task_cpu_seconds(pid), time.monotonic()
    count = 0
    while (elapsed := time.monotonic() - begun) < _SLICE_SECONDS:
        connection.execute(query, (bodies,))
        count += jobs
    used = task_cpu_seconds(pid) - cpu
    return Slice(rate=count / elapsed, cpu_us=used / count * 1e6)


def _singles(connection: psycopg.Connection, target: Target) -> Slice:
    """Insert one job per transaction."""
    return _slice(connection, target.one, _BODIES[0], 1)


def _batches(connection: psycopg.Connection, target: Target) -> Slice:
    """Insert a thousand jobs per transaction."""
    return _slice(connection, target.many, list(_BODIES), _BATCH)


def _measure(context: Context, dsn: str) -> tuple[list[Turn], list[Turn]]:
    singles: list[Turn] = []
    batches: list[Turn] = []
    with connect(dsn) as connection:
        for statement in _TABLES:
            connection.execute(statement.encode())
        for turn in range(context.rounds(_SLICES_QUICK, _SLICES_LONG) + 1):
            order = _TARGETS if turn % 2 else _TARGETS[::-1]
            singles.append({each.key: _singles(connection, each) for each in order})
            batches.append({each.key: _batches(connection, each) for each in order})
    return singles[1:], batches[1:]  # the first turn warms up


def _ratio(rounds: list[Turn], key: str, label: str, other: str) -> Figure:
    ours = [each["fairlead"].rate for each in rounds]
    return ratio(key, label, paired_ratio(ours, [each[other].rate for each in rounds]))


def run(context: Context) -> Outcome:
    """Insert one per transaction and a thousand per transaction into three tables."""
    server = context.server
    dsn = server.create_database("enqueue", template(server, context.fairlead))
    server.checkpoint()
    singles, batches = _measure(context, dsn)
    server.drop_database("enqueue")
    figures = [
        _ratio(singles, "single_over_one_index", "1 per tx / one-index table", "one_index"),
        _ratio(batches, "batch_over_bare", "1k per tx / bare table, lane index", "bare"),
        _ratio(singles, "single_over_bare", "1 per tx / bare table, lane index", "bare"),
        _ratio(batches, "batch_over_one_index", "1k per tx / one-index table", "one_index"),
    ]
    for form, rounds in (("single", singles), ("batch", batches)):
        figures += [
            figure(
                f"{form}_{each.key}",
                f"{each.key}, {form}",
                "jobs/s",
                [one[each.key].rate for one in rounds],
            )
            for each in _TARGETS
        ]
    figures += [
        figure(
            f"single_cpu_{each.key}",
            f"{each.key}, single, server's CPU",
            "us/job",
            [one[each.key].cpu_us for one in singles],
        )
        for each in _TARGETS
    ]
    say("  enqueue: " + ", ".join(f"{each.label} {each.value.median:,.2f}" for each in figures))
    rows: list[Row] = [
        {"form": form, **{name: round(one.rate) for name, one in each.items()}}
        for form, rounds in (("single", singles), ("batch", batches))
        for each in rounds
    ]
    return Outcome(scenario="P3", figures=tuple(figures), rows=tuple(rows))
