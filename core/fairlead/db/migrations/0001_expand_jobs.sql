-- The table that applications know: one row per unfinished job.
--
-- A row is pending when run_at is null and it is not in work_queue, scheduled while run_at is set,
-- queued or running when work_queue holds its id. There is no state column: between its INSERT and
-- its end a row is updated only when it falls due, is retried or is handed back, so that a job
-- costs one insert and one delete here.

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
    max_attempts        integer     not null default 5,
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
comment on column fairlead.jobs.max_attempts is 'Failures until the job has failed for good.';
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

-- Admits a row, or refuses it as a CHECK would: same SQLSTATE, a constraint's name that says what is
-- wanted. Ten CHECKs and four on JSON cost each INSERT 85 us, since PostgreSQL parses and plans them
-- anew for every statement; a function's expressions are prepared once in a session. A row of a lane that
-- at its backlog limit is refused too; whether it may be is asked of the gate in the same expression,
-- since a query would cost each row as much as all of this.
create function fairlead._admit_job() returns trigger language plpgsql as $$
begin
    if num_nonnulls(new.run_at, new.expires_at, new.timeout, new.cost_hint, new.dedup_key,
                    new.headers) = 0
       and octet_length(new.queue) between 1 and 128 and octet_length(new.tenant) <= 128
       and octet_length(new.kind) between 1 and 128 and new.priority between -100 and 100
       and new.max_attempts between 1 and 1000 and octet_length(new.payload::text) < 1000
       and (pg_sequence_last_value('fairlead.backlog_gate') is null
            or pg_sequence_last_value('fairlead.backlog_gate')
               & (fairlead._backlog_bit(new.queue)
                  | fairlead._backlog_bit(new.queue || '/' || new.tenant)) = 0
            or fairlead._has_room(new.queue, new.tenant, null, new.retry_of)) then
        return new;
    end if;
    declare
        -- Python refuses to read an integer of over 4300 digits and 1000 levels of nesting. The size
        -- is that of the text, since that is what a claim returns: 1e131071 takes 20 bytes stored.
        numbers constant jsonpath :=
            'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))';
        payload_bytes integer := octet_length(new.payload::text);
        headers_bytes integer := octet_length(new.headers::text);
        broken text := case
            when octet_length(new.queue) not between 1 and 128
            then 'jobs_queue_is_1_to_128_bytes'
            when octet_length(new.tenant) > 128
            then 'jobs_tenant_is_at_most_128_bytes'
            when octet_length(new.kind) not between 1 and 128
            then 'jobs_kind_is_1_to_128_bytes'
            when payload_bytes > 1048576
                 or payload_bytes > 4000 and jsonb_path_exists(new.payload, numbers)
            then 'jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000'
            when payload_bytes > 1000 and jsonb_path_exists(new.payload, '$.**{500}')
            then 'jobs_payload_is_nested_at_most_500_deep'
            when jsonb_typeof(new.headers) <> 'object' or headers_bytes > 8192
            then 'jobs_headers_are_an_object_of_at_most_8_kib'
            when headers_bytes > 1000 and (jsonb_path_exists(new.headers, '$.**{500}')
                                           or jsonb_path_exists(new.headers, numbers))
            then 'jobs_headers_are_nested_at_most_500_deep_numbers_below_1e4000'
            when octet_length(new.dedup_key) not between 1 and 256
            then 'jobs_dedup_key_is_1_to_256_bytes'
            when new.priority not between -100 and 100
            then 'jobs_priority_is_between_minus_100_and_100'
            when new.max_attempts not between 1 and 1000
            then 'jobs_max_attempts_is_between_1_and_1000'
            when new.timeout not between interval '1 millisecond' and interval '30 days'
            then 'jobs_timeout_is_between_1_ms_and_30_days'
            when new.cost_hint not between interval '1 microsecond' and interval '30 days'
            then 'jobs_cost_hint_is_between_1_us_and_30_days'
            when new.run_at < '1970-01-01 00:00+00' or new.run_at >= '9999-01-01 00:00+00'
            then 'jobs_run_at_is_between_1970_and_9999'
            when new.expires_at < '1970-01-01 00:00+00' or new.expires_at >= '9999-01-01 00:00+00'
            then 'jobs_expires_at_is_between_1970_and_9999'
        end;
        field text := substring(broken from '^jobs_(.+?)_(?:is|are)_');
    begin
        if broken is not null then
            raise check_violation using
                message = format('new row for relation "jobs" violates check constraint "%s"', broken),
                detail = format('%s is %s.', field, case field
                    when 'payload' then payload_bytes || ' bytes of JSON'
                    when 'headers' then headers_bytes || ' bytes of JSON'
                    else quote_literal(left(to_jsonb(new) ->> field, 300)) end),
                schema = 'fairlead', table = 'jobs', column = field, constraint = broken;
        end if;
    end;
    if pg_sequence_last_value('fairlead.backlog_gate')
       & (fairlead._backlog_bit(new.queue)
          | fairlead._backlog_bit(new.queue || '/' || new.tenant)) <> 0 then
        perform fairlead._has_room(new.queue, new.tenant, new.dedup_key, new.retry_of);
    end if;
    -- One that is due already is pending at once: it would wait for a promotion otherwise.
    if new.run_at <= now() then
        new.due_at := new.run_at;
        new.run_at := null;
    end if;
    return new;
end $$;
create trigger jobs_admit before insert on fairlead.jobs
    for each row execute function fairlead._admit_job();

-- Wakes the scheduler, but only one that sleeps. A notifying transaction holds an instance-wide lock
-- at its commit, so under load no session may notify. The sleeping scheduler holds this advisory lock;
-- getting it shared means that no scheduler sleeps. It is given back at once: held to commit it would
-- make every later INSERT notify. Before the rows, since that costs less than after them, and the
-- notification leaves with the commit in any case.
create function fairlead._wake_scheduler() returns trigger language plpgsql as $$
begin
    if not (case when pg_try_advisory_lock_shared(7165163640219131510)
                 then pg_advisory_unlock_shared(7165163640219131510) else false end) then
        perform pg_notify('fairlead_scheduler', '');
    end if;
    return null;
end $$;
create trigger jobs_wake_scheduler before insert on fairlead.jobs
    for each statement execute function fairlead._wake_scheduler();
