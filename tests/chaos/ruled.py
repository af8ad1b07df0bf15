"""Every dispatch beside the policies that may have held for it, and the check of them.

A trigger notes how much was in flight when a dispatch was done, itself included. Only a
dispatch adds to what is in flight, so a limit that was ever exceeded shows in one of them.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from psycopg import Connection
from psycopg.rows import TupleRow, args_row

BANDS = 3
PRIORITIES = (60, 0, -60)
"""One of each band."""
RATED = "rated"
"""The queue with a rate."""
LIMITED = "limited"
"""The queue with limits: its own, of its tenants and of accounts."""
RATE_JOBS, RATE_SECONDS, RATE_BURST = 1, 3.0, 4
"""A dispatch is noted a moment after the look that has decided it, and no leader decides for
longer than its lease: between two jobs of the rate is more than that, so that one job more than
the rate allows is one too many."""

_MAKE = b"""
CREATE TABLE public.chaos_ruled (
    number bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    statement xid8 NOT NULL DEFAULT pg_current_xact_id(),
    job bigint NOT NULL, band smallint NOT NULL, queue text NOT NULL,
    tenant text NOT NULL, account text,
    of_queue integer NOT NULL, of_tenant integer NOT NULL, of_account integer NOT NULL,
    in_force bigint, stored bigint
);
CREATE FUNCTION public.chaos_note_ruled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_ruled (job, band, queue, tenant, account, of_queue, of_tenant,
                                    of_account, in_force, stored)
    SELECT a.job_id, a.band, a.queue, a.tenant, j.payload ->> 'account', f.of_queue,
           f.of_tenant, f.of_account, p.in_force, p.stored
    FROM added a
    JOIN fairlead.jobs j ON j.id = a.job_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS of_queue, count(*) FILTER (WHERE q.tenant = a.tenant) AS of_tenant,
               count(*) FILTER (WHERE k.payload ->> 'account' = j.payload ->> 'account')
                   AS of_account
        FROM fairlead.work_queue q JOIN fairlead.jobs k ON k.id = q.job_id
        WHERE q.queue = a.queue) f
    CROSS JOIN (
        SELECT (SELECT max(e.version) FROM fairlead.policy_events e
                WHERE e.event = 'in_force') AS in_force,
               (SELECT max(v.version) FROM fairlead.policy_versions v) AS stored) p;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_ruled AFTER INSERT ON fairlead.work_queue
REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_ruled();
"""
_READ = b"""
SELECT extract(epoch FROM at)::float8, dense_rank() OVER (ORDER BY first)::int, band, queue,
       tenant, account, of_queue, of_tenant, of_account, in_force, stored
FROM (SELECT r.*, min(number) OVER (PARTITION BY statement) AS first
      FROM public.chaos_ruled r) r
ORDER BY number
"""


_TIMES = b"""
SELECT job, array_agg(extract(epoch FROM at)::float8) FROM public.chaos_ruled GROUP BY job
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What one version allows in flight: of the queue, of each tenant and each account."""

    of_queue: int
    of_tenant: int
    of_account: int
    weight: float


EASE = Allowed(of_queue=1000, of_tenant=1000, of_account=1000, weight=1.0)
"""More than there are slots."""


class Dispatch(NamedTuple):
    """One job's dispatch; what was in flight counts it and those of the same statement."""

    at: float
    statement: int
    """Which one it was, counted from 1."""
    band: int
    queue: str
    tenant: str
    account: str | None
    of_queue: int
    of_tenant: int
    of_account: int
    in_force: int | None
    """The newest version that a leader had said to be in force,"""
    stored: int
    """and the newest that there was."""


def document(allowed: Allowed) -> str:
    """Return the policy document that allows this."""
    return f"""
bands:
  - {{name: urgent, priorities: {{from: 50}}}}
  - {{name: usual, maxWait: 2s, priorities: {{from: -49, to: 49}}}}
  - {{name: bulk, maxWait: 20s}}
queues:
  - match: {{queue: {RATED}}}
    rate: {{limit: {RATE_JOBS}, per: {RATE_SECONDS:g}s, burst: {RATE_BURST}}}
  - match: {{queue: {LIMITED}}}
    slots: {{limit: {allowed.of_queue}}}
    concurrency: {{key: payload.account, limit: {allowed.of_account}, scope: queue}}
    tenants:
      default: {{slots: {{limit: {allowed.of_tenant}}}}}
      overrides: [{{match: {{tenant: t1}}, weight: {allowed.weight:g}}}]
"""


def drawn(chance: random.Random) -> Allowed:
    """Draw one; all of it together is less than one worker's slots in the chaos."""
    return Allowed(
        of_queue=chance.randint(3, 5),
        of_tenant=chance.randint(2, 3),
        of_account=chance.randint(1, 3),
        weight=chance.choice((0.25, 1.0, 4.0, 10.0)),
    )


def begin(connection: Connection[TupleRow]) -> None:
    """Note dispatches from now on; once in a database."""
    connection.execute(_MAKE)


def dispatches(connection: Connection[TupleRow]) -> list[Dispatch]:
    """Read them, in the order in which they came."""
    with connection.cursor(row_factory=args_row(Dispatch)) as cursor:
        return cursor.execute(_READ).fetchall()


def times(connection: Connection[TupleRow]) -> dict[int, list[float]]:
    """Read when each job was dispatched."""
    return dict(connection.execute(_TIMES).fetchall())


def over(found: Sequence[Dispatch], versions: Mapping[int, Allowed]) -> list[str]:
    """Return what was dispatched though no policy that may have held allowed it: pure."""
    times = [each.at for each in found if each.queue == RATED]
    excess = over_rate(times)
    wrong = [f"{excess} jobs over the rate"] if excess else []
    in_force = _in_force(found)
    for each in found:
        if each.queue != LIMITED:
            continue
        held = [
            allowed
            for version, allowed in versions.items()
            if in_force[each.statement] <= version <= each.stored
        ]
        wrong += [
            f"{name} at {each}"
            for name, had, most in (
                ("queue", each.of_queue, max(one.of_queue for one in held)),
                (each.tenant, each.of_tenant, max(one.of_tenant for one in held)),
                (each.account, each.of_account, max(one.of_account for one in held)),
            )
            if name is not None and had > most
        ]
    return wrong


def over_rate(times: Iterable[float]) -> int:
    """Return by how many whole jobs the fullest stretch of time was above the rate."""
    worst = lowest = 0.0
    for number, at in enumerate(sorted(times)):
        behind = number - at * RATE_JOBS / RATE_SECONDS
        lowest = min(lowest, behind) if number else behind
        worst = max(worst, behind + 1 - lowest - RATE_BURST)
    return int(worst)


def _in_force(found: Sequence[Dispatch]) -> dict[int, int]:
    """Return the oldest version that may have held for each statement.

    A leader says that a version is in force before its loop has it: from the next plan on. A
    plan is one statement for each band at most, so that the one so many before it is of an
    earlier plan.
    """
    said = {each.statement: each.in_force or 1 for each in found}
    return {number: said.get(number - BANDS, 1) for number in said}
