-- The table that applications know: one row per unfinished job.
--
-- A row is pending when run_at is null and it is not in work_queue, scheduled while run_at is set,
-- queued or running when work_queue holds its id. There is no state column: between its INSERT and
-- its end a row is updated only when it falls due, is retried, is handed back or is given another
-- priority, so that a job costs one insert and one delete here.

create sequence fairlead.places as bigint;
comment on sequence fairlead.places is 'Places in the lanes; a job that comes back draws a new one.';

create table fairlead.jobs (
    id                  bigint      generated always as identity,
    seq                 bigint      not null default nextval('fairlead.places'),
    run_at              timestamptz,
    expires_at          timestamptz,
    created_at          timestamptz not null default now(),
    due_at              timestamptz,
    cancel_requested_at timestamptz,
    retry_of            bigint,
    max_attempts        integer,
    attempts            integer     not null default 0,
    crashes             integer     not null default 0,
    losses              integer     not null default 0,
    lone_deaths         integer     not null default 0,
    priority            smallint    not null default 0,
    rank                smallint    not null generated always as (- priority) stored,
    suspect             boolean     not null default false,
    queue               text        collate "C" not null default 'default',
    tenant              text        collate "C" not null default '',
    kind                text        collate "C" not null,
    payload             jsonb       not null default '{}',
    timeout             interval,
    cost_hint           interval,
    dedup_key           text        collate "C",
    headers             jsonb,
    last_error          text
) with (
    -- Rows come and go quickly: vacuum by count, not by share of the table.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
    autovacuum_vacuum_cost_delay = 0
);

-- rank is -priority, ascending: a descending column makes the loose scan sort each tenant's lane.
create index jobs_lane on fairlead.jobs (queue, tenant, rank, seq) where run_at is null;
-- With the lanes, so that what is scheduled in each is counted by this index alone: another one would cost
-- every INSERT 6 %, also of jobs that are not delayed.
create index jobs_due on fairlead.jobs (run_at) include (queue, tenant) where run_at is not null;
create index jobs_expiry on fairlead.jobs (expires_at) where expires_at is not null;
create unique index jobs_dedup on fairlead.jobs (queue, tenant, dedup_key)
    where dedup_key is not null;

-- Last, because of two indexes that seem equal, as all do while a table is empty, the planner takes
-- the one that was made last, and a plan may be kept until long after the table has filled.
alter table fairlead.jobs add primary key (id);

comment on table fairlead.jobs is
    'Unfinished jobs. Applications insert rows here; their endings stand in job_history.';
comment on column fairlead.jobs.queue is 'The queue; a queue belongs to exactly one pool of workers.';
comment on column fairlead.jobs.tenant is 'Whose job it is: tenants of a queue share it fairly.';
comment on column fairlead.jobs.kind is 'The name of the handler that runs it.';
comment on column fairlead.jobs.payload is 'Any JSON value, at most 1 MiB as text.';
comment on column fairlead.jobs.priority is 'Order inside the tenant''s lane, higher first; where the policy has bands, which of them too.';
comment on column fairlead.jobs.run_at is 'Not before this instant; null is now.';
comment on column fairlead.jobs.expires_at is 'Ends as expired when it has not started by then.';
comment on column fairlead.jobs.dedup_key is
    'At most one unfinished job per queue, tenant and key; insert with ON CONFLICT DO NOTHING.';
comment on column fairlead.jobs.max_attempts is 'Failures until the job has failed for good; null is 20.';
comment on column fairlead.jobs.timeout is 'The budget of one attempt; null is the pool''s default.';
comment on column fairlead.jobs.cost_hint is 'How long an attempt will take, where known.';
comment on column fairlead.jobs.headers is 'Trace context and the like, at most 8 KiB.';
comment on column fairlead.jobs.seq is 'The place in the lane.';
comment on column fairlead.jobs.due_at is 'When a delayed or retried job fell due.';
comment on column fairlead.jobs.attempts is 'Attempts that ended without ending the job.';
comment on column fairlead.jobs.crashes is 'Deaths of the process that ran it, beside others.';
comment on column fairlead.jobs.losses is 'Times that its whole worker was lost.';
comment on column fairlead.jobs.lone_deaths is 'Deaths while it ran alone; they lead to quarantine.';
comment on column fairlead.jobs.suspect is
    'Runs alone next: a process died with it, and no attempt alone has ended well since.';
comment on column fairlead.jobs.retry_of is 'The finished job that this one repeats.';

-- Admits a row, or refuses it as a CHECK would: same SQLSTATE, a constraint's name that says what is wanted. Ten
-- CHECKs and four on JSON cost each INSERT 85 us, since PostgreSQL parses and plans them anew for every statement; a
-- function's expressions are prepared once in a session. A row of a lane that is at its backlog limit is refused too.
--
-- As the schema's owner, because what is full is nobody's to read. It names nothing but these two functions: any
-- other name would be looked up where the caller says.
create function fairlead._admit_job() returns trigger language plpgsql security definer as $$
begin
    if not fairlead._is_ordinary(
        new.queue, new.tenant, new.kind, new.priority, new.max_attempts, new.payload, new.retry_of, new.run_at,
        new.expires_at, new.timeout, new.cost_hint, new.dedup_key, new.headers) then
        new := fairlead._admit_unusual(new);
    end if;
    return new;
end $$;
create trigger jobs_admit before insert on fairlead.jobs
    for each row execute function fairlead._admit_job();

-- Wakes the scheduler, but only one that sleeps, and so has given a sequence a value: a notifying transaction holds
-- an instance-wide lock at its commit, so under load no session may notify. Before the rows, since that costs less
-- than after them, and the notification leaves with the commit in any case.
--
-- As the schema's owner, who alone reads the sequence beside the leader. It names a function of Fairlead's and
-- nothing else: any other name would be looked up where the caller says, and a search path of its own costs each
-- INSERT as much as the rest of the trigger.
create function fairlead._wake_scheduler() returns trigger language plpgsql security definer as $$
begin
    if pg_catalog.pg_sequence_last_value('fairlead.inserts_notify') is not null then
        perform fairlead._notify_scheduler('inserted');
    end if;
    return null;
end $$;
create trigger jobs_wake_scheduler before insert on fairlead.jobs
    for each statement execute function fairlead._wake_scheduler();
