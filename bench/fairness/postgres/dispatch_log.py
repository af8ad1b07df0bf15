"""Record the time of every dispatch with a trigger, since no table of the product keeps it.

Each record has the number of the tenant's jobs in flight after the dispatch, itself included,
in the statement's own snapshot, so that any violation of a limit shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import psycopg
from psycopg.rows import args_row

_INSTALL = b"""
create schema bench;
create unlogged table bench.dispatched (
    job_id bigint not null, epoch bigint not null,
    in_flight integer not null, of_queue integer not null,
    at timestamptz not null default clock_timestamp()
);
create function bench.note() returns trigger language plpgsql as $$
begin
    insert into bench.dispatched (job_id, epoch, in_flight, of_queue)
    select a.job_id, a.epoch, f.jobs, f.of_queue
    from added a join (
        select q.queue, q.tenant, count(*) as jobs,
               sum(count(*)) over (partition by q.queue) as of_queue
        from fairlead.work_queue q group by 1, 2
    ) f on f.queue = a.queue and f.tenant = a.tenant;
    return null;
end $$;
create trigger bench_notes after insert on fairlead.work_queue
    referencing new table as added for each statement execute function bench.note();
"""
_DISPATCHES = b"""
select (p.payload ->> 'n')::int, d.epoch, d.in_flight, d.of_queue,
       (extract(epoch from d.at) * 1e6)::bigint - %(begun)s,
       (extract(epoch from p.created_at) * 1e6)::bigint - %(begun)s,
       (extract(epoch from p.claimed_at) * 1e6)::bigint - %(begun)s,
       (extract(epoch from p.finished_at) * 1e6)::bigint - %(begun)s
from bench.dispatched d join (
    select h.id, h.payload, h.created_at, h.claimed_at, h.finished_at
    from fairlead.job_history h
    union all
    select j.id, j.payload, j.created_at, q.claimed_at, null
    from fairlead.jobs j left join fairlead.work_queue q on q.job_id = j.id
) p on p.id = d.job_id
order by d.at, d.job_id
"""
_ENDED_TWICE = b"""
select count(*) from (
    select h.id from fairlead.job_history h group by h.id having count(*) > 1) twice
"""
_LEFT = b"select (select count(distinct h.id) from fairlead.job_history h)\
 + (select count(*) from fairlead.jobs)"


class Dispatch(NamedTuple):
    """A dispatch of a job of the trace, and the job's life; microseconds since the start."""

    place: int
    """The job's index in the trace."""
    epoch: int
    in_flight: int
    """Jobs of its tenant in flight, this one included."""
    of_queue: int
    """The same for its queue."""
    at_us: int
    created_us: int
    claimed_us: int | None
    finished_us: int | None


def install(connection: psycopg.Connection) -> None:
    """Record dispatches from now on."""
    connection.execute(_INSTALL)


def dispatches(connection: psycopg.Connection, begun_us: int) -> list[Dispatch]:
    """Read the dispatches, sorted by time."""
    with connection.cursor(row_factory=args_row(Dispatch)) as cursor:
        return cursor.execute(_DISPATCHES, {"begun": begun_us}).fetchall()


def lasting(found: Sequence[Dispatch]) -> list[Dispatch]:
    """Return each job's last dispatch only: earlier ones were recalled and had no slot."""
    last = {each.place: each for each in found}
    return sorted(last.values(), key=lambda each: each.at_us)


def ended_twice(connection: psycopg.Connection) -> int:
    """Count jobs with more than one ending."""
    return _count(connection, _ENDED_TWICE)


def known(connection: psycopg.Connection) -> int:
    """Count all jobs, finished or not."""
    return _count(connection, _LEFT)


def _count(connection: psycopg.Connection, query: bytes) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def over_limit(
    found: Sequence[Dispatch], tenants: Sequence[str], limits: dict[str, int]
) -> int:
    """Return the largest excess over a tenant's limit, in jobs; `tenants` by index."""
    over = [
        each.in_flight - limits[tenants[each.place]]
        for each in found
        if tenants[each.place] in limits
    ]
    return max(0, *over) if over else 0


def over_rate(times_us: Sequence[int], *, per_second: float, burst: int) -> int:
    """Return the largest excess of any window over a rate, in jobs.

    A dispatch is recorded a moment after its tick decided it, so only whole jobs count.
    """
    lowest = worst = 0.0
    for number, at_us in enumerate(sorted(times_us)):
        allowed = at_us / 1e6 * per_second
        lowest = min(lowest, number - allowed) if number else -allowed
        worst = max(worst, number + 1 - allowed - lowest - burst)
    return int(worst)
