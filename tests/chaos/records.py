"""What the database itself records during faults, in tables of the tests.

A row of `chaos_effects` is the work of a handler that finishes its job in its own transaction.
The table has no unique constraint, so a job that was done twice shows. Every row inserted into
`work_queue` is recorded with its epoch and the leader's at that moment, and every take-over
with its time. Each change of a job's place, of a worker's lease and of the leader's is a row of
`chaos_steps`, which the model replays: see tests/model.
"""

from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import TupleRow, class_row

from tests.model import maude
from tests.model.replaying import Step, refused

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

_MAKE_STEPS = b"""
CREATE TABLE public.chaos_steps (
    place bigserial,
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT now(),
    started timestamptz NOT NULL DEFAULT pg_postmaster_start_time(),
    timeline integer NOT NULL DEFAULT fairlead._timeline(),
    by text NOT NULL DEFAULT current_setting('application_name'),
    what text NOT NULL, job bigint, token bigint, worker bigint, epoch bigint, lease_ms bigint,
    holder text
);
INSERT INTO public.chaos_steps (what, epoch) SELECT 'begun', l.epoch FROM fairlead.leaders l
WHERE l.role = 'scheduler';

CREATE FUNCTION public.chaos_ms(until timestamptz) RETURNS bigint LANGUAGE sql AS $$
    SELECT CASE WHEN isfinite(until)
        THEN greatest(ceil(extract(epoch FROM until - now()) * 1000), 0)::bigint ELSE 0 END
$$;

CREATE FUNCTION public.chaos_note_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_steps (what, job, epoch)
    SELECT 'dispatched', a.job_id, a.epoch FROM added a;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_inserted AFTER INSERT ON fairlead.work_queue
REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_inserted();

CREATE FUNCTION public.chaos_note_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_steps (what, job, token, worker)
    SELECT CASE WHEN a.completed THEN 'completed' WHEN w.worker IS NULL THEN 'claimed'
                WHEN w.deadline < now() THEN 'handed back overdue' ELSE 'handed back' END,
           a.job_id, coalesce(a.token, w.token), coalesce(a.worker, w.worker)
    FROM was w JOIN added a ON a.job_id = w.job_id
    WHERE a.completed <> w.completed OR (a.worker IS NULL) <> (w.worker IS NULL);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_updated AFTER UPDATE ON fairlead.work_queue
REFERENCING OLD TABLE AS was NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_updated();

CREATE FUNCTION public.chaos_note_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_steps (what, job, token, worker)
    SELECT CASE WHEN w.completed THEN 'released' ELSE 'dequeued' END,
           w.job_id, w.token, w.worker
    FROM was w;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_deleted AFTER DELETE ON fairlead.work_queue
REFERENCING OLD TABLE AS was FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_deleted();

CREATE FUNCTION public.chaos_note_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_steps (what, job, token)
    SELECT 'ended', a.id, a.token FROM added a;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_ended AFTER INSERT ON fairlead.job_history
REFERENCING NEW TABLE AS added FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_ended();

CREATE FUNCTION public.chaos_note_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_steps (what, worker, lease_ms)
    VALUES (CASE WHEN tg_op = 'INSERT' THEN 'registered'
                 WHEN new.dead_at IS NOT NULL THEN 'died' ELSE 'renewed' END,
            new.id, public.chaos_ms(new.lease_until));
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_registered AFTER INSERT ON fairlead.worker_leases FOR EACH ROW
EXECUTE FUNCTION public.chaos_note_worker();
CREATE TRIGGER chaos_renewed AFTER UPDATE ON fairlead.worker_leases FOR EACH ROW
WHEN (new.lease_until <> old.lease_until OR (new.dead_at IS NULL) <> (old.dead_at IS NULL))
EXECUTE FUNCTION public.chaos_note_worker();

CREATE FUNCTION public.chaos_note_leader() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_steps (what, epoch, lease_ms, holder)
    VALUES (CASE WHEN new.epoch = old.epoch THEN 'prolonged' ELSE 'led' END,
            new.epoch, public.chaos_ms(new.lease_until), 'of-' || md5(new.holder));
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_leader AFTER UPDATE ON fairlead.leaders FOR EACH ROW
WHEN (new.role = 'scheduler' AND (new.epoch, new.lease_until) <> (old.epoch, old.lease_until))
EXECUTE FUNCTION public.chaos_note_leader();
"""

_STEPS = b"""
SELECT place, transaction::text::bigint AS transaction, what, by, timeline,
       (extract(epoch FROM at) * 1000)::bigint AS at_ms,
       (extract(epoch FROM started) * 1000)::bigint AS started_ms,
       coalesce(job, 0) AS job, coalesce(token, 0) AS token, coalesce(worker, 0) AS worker,
       coalesce(epoch, 0) AS epoch, coalesce(lease_ms, 0) AS lease_ms,
       coalesce(holder, '') AS holder
FROM public.chaos_steps ORDER BY place
"""


@dataclass(frozen=True, slots=True)
class Effect:
    """The work of an attempt's own transaction."""

    job: int
    token: int


def begin(connection: Connection[TupleRow]) -> None:
    """Start recording; once per database."""
    connection.execute(_MAKE)
    connection.execute(_MAKE_STEPS)


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


def steps(connection: Connection[TupleRow]) -> tuple[Step, ...]:
    """Return every change of a job's place and of a lease."""
    with connection.cursor(row_factory=class_row(Step)) as cursor:
        return tuple(cursor.execute(_STEPS))


def strange(connection: Connection[TupleRow], *, lease_seconds: float) -> tuple[str, ...]:
    """Return the first change that the model refuses, where the tool for it is installed."""
    if not maude.is_here():
        return ()
    return refused(steps(connection), lease_seconds=lease_seconds)


def take_overs(connection: Connection[TupleRow]) -> tuple[float, ...]:
    """Return the times of take-overs, by this machine's clock."""
    rows = connection.execute(
        "SELECT extract(epoch FROM at)::float8 FROM public.chaos_leads ORDER BY at"
    ).fetchall()
    return tuple(float(row[0]) for row in rows)
