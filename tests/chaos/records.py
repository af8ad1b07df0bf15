"""What the database itself records during faults, in tables of the tests.

A row of `chaos_effects` is the work of a handler that finishes its job in its own transaction.
The table has no unique constraint, so a job that was done twice shows. Every row inserted into
`work_queue` is recorded with its epoch and the leader's at that moment, and every take-over
with its time.
"""

from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import TupleRow

EFFECT = b"INSERT INTO public.chaos_effects (job, token) VALUES (%s, %s)"

_MAKE = b"""
CREATE TABLE public.chaos_effects (job bigint NOT NULL, token bigint NOT NULL);
CREATE TABLE public.chaos_dispatches (
    job bigint NOT NULL, epoch bigint NOT NULL, led_by bigint NOT NULL
);
CREATE TABLE public.chaos_leads (epoch bigint NOT NULL, at timestamptz NOT NULL);

CREATE FUNCTION public.chaos_note_dispatch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_dispatches (job, epoch, led_by)
    SELECT a.job_id, a.epoch, l.epoch FROM added a, fairlead.leaders l
    WHERE l.role = 'scheduler';
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_dispatch AFTER INSERT ON fairlead.work_queue
REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_dispatch();

CREATE FUNCTION public.chaos_note_lead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_leads (epoch, at) VALUES (new.epoch, clock_timestamp());
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_lead AFTER UPDATE ON fairlead.leaders FOR EACH ROW
WHEN (new.role = 'scheduler' AND new.epoch <> old.epoch)
EXECUTE FUNCTION public.chaos_note_lead();
"""


@dataclass(frozen=True, slots=True)
class Effect:
    """The work of an attempt's own transaction."""

    job: int
    token: int


def begin(connection: Connection[TupleRow]) -> None:
    """Start recording; once per database."""
    connection.execute(_MAKE)


def effects(connection: Connection[TupleRow]) -> tuple[Effect, ...]:
    """Return the work of handlers' own transactions."""
    rows = connection.execute("SELECT job, token FROM public.chaos_effects").fetchall()
    return tuple(Effect(int(row[0]), int(row[1])) for row in rows)


def epochs(connection: Connection[TupleRow]) -> dict[int, set[int]]:
    """Return the epochs under which each job was dispatched."""
    rows = connection.execute("SELECT job, epoch FROM public.chaos_dispatches").fetchall()
    found: dict[int, set[int]] = {}
    for job, epoch in rows:
        found.setdefault(int(job), set()).add(int(epoch))
    return found


def usurped(connection: Connection[TupleRow]) -> tuple[int, ...]:
    """Return the jobs that were dispatched under the epoch of a deposed leader."""
    rows = connection.execute(
        "SELECT job FROM public.chaos_dispatches WHERE epoch <> led_by ORDER BY job"
    ).fetchall()
    return tuple(int(row[0]) for row in rows)


def take_overs(connection: Connection[TupleRow]) -> tuple[float, ...]:
    """Return the times of take-overs, by this machine's clock."""
    rows = connection.execute(
        "SELECT extract(epoch FROM at)::float8 FROM public.chaos_leads ORDER BY at"
    ).fetchall()
    return tuple(float(row[0]) for row in rows)
