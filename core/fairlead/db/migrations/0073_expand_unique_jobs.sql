-- Jobs that replace the one that waits under their dedup key, and keys that hold for a period.

-- The key itself is what a job carries, and may be an address; it is known again by its digest. The leader forgets
-- what is over.
create table fairlead.unique_periods (
    queue      text        collate "C" not null,
    tenant     text        collate "C" not null,
    key_digest bytea       not null,
    until      timestamptz not null,
    constraint unique_periods_pkey primary key (queue, tenant, key_digest)
);
create index unique_periods_until on fairlead.unique_periods (until);
alter table fairlead.unique_periods alter queue set statistics 0, alter tenant set statistics 0,
    alter key_digest set statistics 0;
comment on table fairlead.unique_periods is
    'Dedup keys under which no job is inserted until an instant, because one was inserted with unique_for.';
comment on column fairlead.unique_periods.key_digest is 'SHA-256 of the dedup key.';

-- Whether the session's login may insert such a job: what the policies of jobs say, which do not ask whom a function
-- runs for.
create function fairlead._may_enqueue(queue text, tenant text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    by_tenant constant boolean := (select o.rls from fairlead.install_options o);
begin
    if by_tenant and fairlead._sees(_may_enqueue.tenant) then
        return true;
    end if;
    return (not by_tenant or fairlead._is_member('fairlead_worker'))
       and coalesce(_may_enqueue.queue = any (fairlead._follow_ups()), true);
end $$;

-- What is wrong with how a job is to be the only one of its key; null: nothing.
create function fairlead._unique_fault(
    dedup_key text, run_at timestamptz, replaces boolean, debounce interval, debounce_max interval, unique_for interval
) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select case
        when not replaces and debounce_max is null and unique_for is null then null
        when debounce is null and debounce_max is not null
            then format('debounce_max is %s without a debounce: give both, or neither', debounce_max)
        when replaces and unique_for is not null
            then format('unique_for is %s beside replace or debounce: a job is kept or replaced, so give one of them',
                        unique_for)
        when debounce is not null and run_at is not null
            then format('run_at is %s beside debounce, which says when the job runs: give one of them', run_at)
        when debounce not between interval '1 ms' and interval '30 days'
            then format('debounce is %s: give 1 ms to 30 days', debounce)
        when debounce_max not between debounce and interval '365 days'
            then format('debounce_max is %s: give %s, which is debounce, to 365 days', debounce_max, debounce)
        when unique_for not between interval '1 s' and interval '31 days'
            then format('unique_for is %s: give 1 s to 31 days', unique_for)
        when dedup_key is null
            then format('dedup_key is null: %s needs the key that makes jobs one', case
                when debounce is not null then 'debounce' when replaces then 'replace' else 'unique_for' end)
    end
$$;

-- Puts a job in the place of the one that waits under its key, and answers its id. No id: nobody has the key now.
-- The job's row is locked first, then its row of work_queue, as by cancel.
create function fairlead._replace(
    wanted fairlead.jobs, debounce interval, debounce_max interval, out id bigint, out became text
) returns record
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set enable_tidscan = on as $$
declare
    old fairlead.jobs;
    free boolean := true;
    asked_at timestamptz;
    runs_at timestamptz;
begin
    select j.* into old from fairlead.jobs j
    where j.queue = wanted.queue and j.tenant = wanted.tenant and j.dedup_key = wanted.dedup_key
    for update;
    if not found then
        return;
    end if;
    if (fairlead._owns(old.tenant, old.enqueued_by)
        or old.enqueued_by = session_user and fairlead._is_member('fairlead_worker')) is not true then
        raise exception 'fairlead: the job with this dedup_key in queue % of tenant % is not login %''s to replace: '
                        'give another key, or enqueue without replace and debounce',
            quote_literal(old.queue), quote_literal(old.tenant), session_user
            using errcode = 'insufficient_privilege';
    end if;
    -- A second statement, and so a new snapshot: a dispatch that held the job is visible now.
    if exists (select from fairlead.work_queue q where q.job_id = old.id) then
        select q.worker is null into free from fairlead.work_queue q
        where q.job_id = old.id for update skip locked;
    end if;
    if old.enqueued_by is distinct from session_user then
        perform fairlead._record_audit('replace', job_id => old.id);
    end if;
    asked_at := clock_timestamp();
    -- It runs, or is being claimed: its attempt goes on with what it has read, and is its last one. What comes back
    -- of it finds that it has expired, so nothing old runs behind what is new.
    if free is not true then
        update fairlead.jobs j
        set dedup_key = null, expires_at = least(j.expires_at, asked_at) where j.id = old.id;
        became := 'follows';
        return;
    end if;
    became := 'replaced';
    runs_at := case when debounce is null then wanted.run_at
                    when old.run_at is not null then least(asked_at + debounce, old.created_at + debounce_max) end;
    -- The leader has read nothing of a job that waits for its time: it is changed. Its batch has a note of it and keeps
    -- it, so one that is to be in another batch is another job.
    if old.run_at is not null and (wanted.batch is null or wanted.batch is not distinct from old.batch) then
        runs_at := greatest(asked_at, runs_at);
        update fairlead.jobs j
        set kind = wanted.kind, payload = wanted.payload, priority = wanted.priority, run_at = runs_at,
            expires_at = wanted.expires_at, max_attempts = wanted.max_attempts, timeout = wanted.timeout,
            cost_hint = wanted.cost_hint, headers = wanted.headers, attempts = 0, crashes = 0, losses = 0,
            lone_deaths = 0, suspect = false, last_error = null, checkpoint = null
        where j.id = old.id;
        if runs_at < old.run_at then
            perform fairlead._notify_scheduler('');
        end if;
        id := old.id;
        return;
    end if;
    -- The leader may have read the payload of one that is due, for a key or a rule, and remembers that by its id. So
    -- another job takes its place in the lane. It passes the backlog limit like a repeat: there are no more jobs.
    runs_at := case when runs_at > asked_at then runs_at end;
    insert into fairlead.jobs as j (
        queue, tenant, kind, payload, priority, run_at, expires_at, max_attempts, timeout, cost_hint, headers,
        batch, enqueued_by, retry_of, created_at, due_at, seq)
    values (old.queue, old.tenant, wanted.kind, wanted.payload, wanted.priority, runs_at, wanted.expires_at,
            wanted.max_attempts, wanted.timeout, wanted.cost_hint, wanted.headers, wanted.batch, old.enqueued_by,
            old.id, old.created_at,
            case when runs_at is null then case when old.run_at is null then old.due_at else asked_at end end,
            case when runs_at is null and old.run_at is null then old.seq else nextval('fairlead.places') end)
    returning j.id into id;
    perform fairlead._end_unstarted(array[old.id], 'cancelled', array[format('replaced by job %s', id)]);
    update fairlead.jobs j set dedup_key = old.dedup_key, retry_of = null where j.id = _replace.id;
end $$;

create function fairlead.enqueue(
    kind text, payload jsonb default '{}', queue text default 'default', tenant text default '',
    priority integer default 0, run_at timestamptz default null, expires_at timestamptz default null,
    dedup_key text default null, max_attempts integer default null, timeout interval default null,
    cost_hint interval default null, headers jsonb default null, batch bigint default null,
    replace boolean default false, debounce interval default null, debounce_max interval default null,
    unique_for interval default null,
    out id bigint, out became text
) returns record
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    replaces constant boolean := enqueue.replace is true or enqueue.debounce is not null;
    fault constant text := fairlead._unique_fault(
        enqueue.dedup_key, enqueue.run_at, replaces, enqueue.debounce, enqueue.debounce_max, enqueue.unique_for);
    lock_wait constant text := current_setting('lock_timeout');
    digest constant bytea := case when enqueue.unique_for is not null
                                  then sha256(convert_to(enqueue.dedup_key, 'UTF8')) end;
    wanted fairlead.jobs;
begin
    if fault is not null then
        raise exception 'fairlead: %', fault using errcode = 'invalid_parameter_value';
    end if;
    wanted.queue := coalesce(enqueue.queue, 'default');
    wanted.tenant := coalesce(enqueue.tenant, '');
    wanted.kind := enqueue.kind;
    wanted.payload := coalesce(enqueue.payload, '{}');
    wanted.priority := least(greatest(coalesce(enqueue.priority, 0), -32768), 32767);
    wanted.run_at := enqueue.run_at;
    wanted.expires_at := enqueue.expires_at;
    wanted.dedup_key := enqueue.dedup_key;
    wanted.max_attempts := enqueue.max_attempts;
    wanted.timeout := enqueue.timeout;
    wanted.cost_hint := enqueue.cost_hint;
    wanted.headers := enqueue.headers;
    wanted.batch := enqueue.batch;
    if not fairlead._may_enqueue(wanted.queue, wanted.tenant) then
        raise exception 'fairlead: login % may not enqueue for tenant % into queue %: give a tenant and a queue '
                        'that are its own', session_user, quote_literal(left(wanted.tenant, 128)),
            quote_literal(left(wanted.queue, 128))
            using errcode = 'insufficient_privilege';
    end if;
    if replaces or digest is not null then
        perform fairlead._require_read_committed();
        if exists (
            select from fairlead.unique_periods p
            where p.queue = wanted.queue and p.tenant = wanted.tenant and p.key_digest = digest
              and p.until > clock_timestamp())
        then
            became := 'duplicate';
            return;
        end if;
        -- Others' transactions may hold the key for as long as they like.
        if lock_wait = '0' then
            perform set_config('lock_timeout', '10s', true);
        end if;
    end if;
    loop
        if enqueue.debounce is not null then
            wanted.run_at := clock_timestamp() + enqueue.debounce;
        end if;
        insert into fairlead.jobs as j (
            queue, tenant, kind, payload, priority, run_at, expires_at, dedup_key, max_attempts, timeout, cost_hint,
            headers, batch)
        values (wanted.queue, wanted.tenant, wanted.kind, wanted.payload, wanted.priority, wanted.run_at,
                wanted.expires_at, wanted.dedup_key, wanted.max_attempts, wanted.timeout, wanted.cost_hint,
                wanted.headers, wanted.batch)
        on conflict do nothing returning j.id into id;
        if found then
            became := coalesce(became, 'inserted');
            exit;
        end if;
        exit when not replaces;
        -- The holder of the key may end between the two statements, or be one that runs: then it is free.
        select r.id, coalesce(r.became, enqueue.became) into id, became
        from fairlead._replace(
            wanted, enqueue.debounce, coalesce(enqueue.debounce_max, 10 * enqueue.debounce)) r;
        exit when id is not null;
    end loop;
    if digest is not null and id is not null then
        insert into fairlead.unique_periods as p (queue, tenant, key_digest, until)
        values (wanted.queue, wanted.tenant, digest, clock_timestamp() + enqueue.unique_for)
        on conflict on constraint unique_periods_pkey
        do update set until = excluded.until where p.until <= clock_timestamp();
        -- Another session's job under this key has begun a period, and ended, since the look above.
        if not found then
            delete from fairlead.jobs j where j.id = enqueue.id;
            delete from fairlead.batch_jobs m
            where m.batch = wanted.batch and m.place = (
                select n.place from fairlead.batch_jobs n
                where n.batch = wanted.batch and n.job_id = enqueue.id order by n.place desc limit 1);
            id := null;
        end if;
    end if;
    if id is null then
        became := 'duplicate';
    end if;
    if lock_wait = '0' and (replaces or digest is not null) then
        perform set_config('lock_timeout', lock_wait, true);
    end if;
end $$;

-- Forgets keys whose period is over; answers how many.
create function fairlead._forget_periods(my_epoch bigint, rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    deleted integer;
begin
    if not exists (select from fairlead.unique_periods p where p.until <= now())
       or not fairlead._leads(my_epoch) then
        return 0;
    end if;
    delete from fairlead.unique_periods p
    where p.ctid = any (array(
        select o.ctid from fairlead.unique_periods o
        where o.until <= now() order by o.until limit least(_forget_periods.rows_max, 10000)
        for update skip locked));
    get diagnostics deleted = row_count;
    return deleted;
end $$;

-- Forgets all keys of a tenant, which are digests and may be guessed; answers how many.
create function fairlead._erase_periods(tenant text) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    deleted integer;
begin
    delete from fairlead.unique_periods p where p.tenant = _erase_periods.tenant;
    get diagnostics deleted = row_count;
    return deleted;
end $$;
