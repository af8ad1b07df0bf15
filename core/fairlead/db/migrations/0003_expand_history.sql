-- One row per ending, partitioned by outcome class (each has its own retention), then by day.
-- There is no DEFAULT partition: partitions are made at least 14 days ahead by keep_history.

create table fairlead.job_history (
    id             bigint      not null,
    token          bigint,
    worker         bigint,
    created_at     timestamptz not null,
    due_at         timestamptz,
    runnable_at    timestamptz,
    claimed_at     timestamptz,
    finished_at    timestamptz not null,
    retry_of       bigint,
    retried_as     bigint,
    policy_version bigint,
    attempt        integer     not null,
    max_attempts   integer     not null,
    crashes        integer     not null,
    losses         integer     not null,
    priority       smallint    not null,
    outcome        text        collate "C" not null,
    queue          text        collate "C" not null,
    tenant         text        collate "C" not null,
    kind           text        collate "C" not null,
    payload        jsonb,
    timeout        interval,
    cost_hint      interval,
    dedup_key      text        collate "C",
    headers        jsonb,
    result         jsonb,
    error          text
) partition by list (outcome);
create index job_history_id on fairlead.job_history (id);

create table fairlead.job_history_succeeded partition of fairlead.job_history
    for values in ('succeeded') partition by range (finished_at);
create table fairlead.job_history_unsuccessful partition of fairlead.job_history
    for values in ('failed', 'cancelled', 'expired') partition by range (finished_at);
-- What redrive walks. What was repeated leaves it.
create index job_history_redrive on fairlead.job_history_unsuccessful (queue, finished_at, id)
    where outcome = 'failed' and retried_as is null;
comment on table fairlead.job_history is
    'One row per ending of a job, with its fencing token; what retry and redrive read.';
comment on column fairlead.job_history.retried_as is
    'The newest job that repeats it. It stands here and not with that job, whose own ending may be '
    'forgotten sooner than this one.';
comment on column fairlead.job_history.token is 'Null when the job ended without being claimed.';

create table fairlead.attempt_errors (
    job_id   bigint      not null,
    token    bigint,
    at       timestamptz not null default clock_timestamp(),
    attempt  integer     not null,
    ended_as text        collate "C" not null
        constraint attempt_errors_ended_as_is_known
        check (ended_as in ('failed', 'crashed', 'lost', 'released')),
    error    text        not null default ''
);
create index attempt_errors_job on fairlead.attempt_errors (job_id, at);
create index attempt_errors_age on fairlead.attempt_errors (at);
comment on table fairlead.attempt_errors is 'Attempts that ended without ending their job.';

create function fairlead._history_partition(class text, day date) returns text
language sql immutable as $$
    select format('job_history_%s_%s', class, to_char(day, 'YYYYMMDD'))
$$;

-- Makes the partitions of today and the next days_ahead days; returns how many it made.
-- LIKE and ATTACH, with a short lock_timeout set by the caller: a plain PARTITION OF takes a lock
-- that waits for every reader, and every completion waits behind it. Twice is the same as once.
create function fairlead.make_history_partitions(days_ahead integer default 14) returns integer
language plpgsql as $$
declare
    made integer := 0;
    class text;
    day date;
    part text;
    history_owner name;
begin
    -- One at a time, and never while a migration runs.
    perform pg_advisory_xact_lock(7165163640219131511);
    foreach class in array array['succeeded', 'unsuccessful'] loop
        for day in select d::date from generate_series(
            (now() at time zone 'UTC')::date - 1,
            (now() at time zone 'UTC')::date + days_ahead, interval '1 day') d
        loop
            part := fairlead._history_partition(class, day);
            if exists (
                select from pg_inherits
                where inhrelid = to_regclass(format('fairlead.%I', part))
                  and inhparent = to_regclass(format('fairlead.job_history_%s', class))
            ) then
                continue;
            end if;
            if to_regclass(format('fairlead.%I', part)) is null then
                execute format(
                    'create table fairlead.%I (like fairlead.job_history including all)', part);
            end if;
            -- Every partition belongs to the owner of the history, whichever login made it.
            select pg_get_userbyid(c.relowner) into history_owner from pg_class c
            where c.oid = 'fairlead.job_history'::regclass;
            if history_owner <> current_user then
                execute format('alter table fairlead.%I owner to %I', part, history_owner);
            end if;
            execute format(
                'alter table fairlead.job_history_%s attach partition fairlead.%I '
                'for values from (%L) to (%L)',
                class, part,
                to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00',
                to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
            made := made + 1;
        end loop;
    end loop;
    return made;
end $$;
