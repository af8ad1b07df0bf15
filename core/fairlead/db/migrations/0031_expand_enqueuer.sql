-- Who enqueued a job, and who made a schedule: they may follow and cancel what is theirs, and nothing of others.
--
-- A name and no oid: finding the oid costs an INSERT 7 % of its time in the server and the name nothing that can
-- be measured; it means the same login after a dump is restored elsewhere; and tenant_logins has names, too.

-- Without a default at first: what is there already is nobody's.
alter table fairlead.jobs add column enqueued_by text collate "C";
alter table fairlead.jobs alter column enqueued_by set default session_user;
alter table fairlead.job_history add column enqueued_by text collate "C";
alter table fairlead.schedules add column created_by text collate "C";
alter table fairlead.schedules alter column created_by set default session_user;
comment on column fairlead.jobs.enqueued_by is
    'The login that inserted it, or made the schedule that did; a repeat has that of its original.';
comment on column fairlead.job_history.enqueued_by is 'As in jobs.';
comment on column fairlead.schedules.created_by is 'The login that inserted it.';

-- The schema's owner, superusers, administrators, schedulers and autoscalers: every job is theirs.
create function fairlead._owns_all() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._administers()
        or fairlead._is_member('fairlead_scheduler') or fairlead._is_member('fairlead_autoscaler');
end;

-- Does the login act for every tenant? Without row-level security every login does.
create or replace function fairlead._sees_all() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select not o.rls or fairlead._owns_all() from fairlead.install_options o where o.only_row;
end;

-- Is a job of this tenant, enqueued by this login, the caller's own? With row-level security that is so by
-- tenant, else by login.
create function fairlead._owns(of_tenant text, of_login text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._owns_all() or coalesce(
        case when o.rls
             then exists (select from fairlead.tenant_logins t
                          where t.login = session_user and t.tenant = of_tenant)
             else of_login = session_user end, false)
    from fairlead.install_options o where o.only_row;
end;

-- May the caller read every job? With row-level security a reader has tenants as others have.
create function fairlead._reads_all() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._owns_all() or not o.rls and fairlead._is_member('fairlead_reader')
    from fairlead.install_options o where o.only_row;
end;

-- Whose schedules may fire as often as they say.
create function fairlead._administrators() returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select array_agg(r.rolname::text) from pg_roles r, pg_namespace n
    where n.nspname = 'fairlead' and (pg_has_role(r.oid, n.nspowner, 'member')
                                      or pg_has_role(r.oid, to_regrole('fairlead_admin'), 'member'));
end;

-- Cancels a job. Answers cancelled (it ended here and will not run), requested (it runs; its worker
-- learns of it at its next renewal, at the latest), finished, or unknown. A repeat is harmless.
create or replace function fairlead.cancel(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    queued boolean;
    free boolean;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j
    where j.id = cancel.job_id and fairlead._owns(j.tenant, j.enqueued_by) for update;
    if not found then
        perform from fairlead.job_history h
        where h.id = cancel.job_id and fairlead._owns(h.tenant, h.enqueued_by);
        return case when found then 'finished' else 'unknown' end;
    end if;
    -- A second statement, and so a new snapshot: a dispatch that held the job is visible now.
    select true into queued from fairlead.work_queue q where q.job_id = cancel.job_id;
    if queued then
        select q.worker is null into free from fairlead.work_queue q
        where q.job_id = cancel.job_id for update skip locked;
        if free is distinct from true then
            update fairlead.jobs j
            set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
            where j.id = cancel.job_id;
            perform pg_notify('fairlead_cancel', cancel.job_id::text);
            return 'requested';
        end if;
    end if;
    perform fairlead._end_unstarted(array[cancel.job_id], 'cancelled');
    return 'cancelled';
end $$;

-- Ends jobs whose rows the caller holds: they leave jobs and enter the history; they leave work_queue as
-- well, unless a handler that has completed its job has the slot still. Rows that were found are deleted by
-- their places, which cannot change meanwhile: the caller holds them.
create or replace function fairlead._end_jobs(
    ids bigint[], outcomes text[], errors text[] default null, results jsonb[] default null
) returns void language sql
begin atomic
    with asked as materialized (
        select a.id, a.outcome, a.error, a.result
        from unnest(ids, outcomes, errors, results) as a (id, outcome, error, result)
    ), held as materialized (
        select q.ctid as place, q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at, q.completed
        from fairlead.work_queue q where q.job_id = any (ids)
    ), released as (
        delete from fairlead.work_queue q
        where q.ctid = any (array(select h.place from held h where not h.completed))
        returning q.job_id, q.claimed_at
    ), gone as (
        delete from fairlead.jobs j where j.id = any (ids) returning j.*
    ), kept as (
        insert into fairlead.job_history (
            id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
            attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
            timeout, cost_hint, dedup_key, headers, result, error, enqueued_by)
        select g.id, h.token, h.worker, g.created_at, g.due_at, h.runnable_at, h.claimed_at,
               clock_timestamp(), g.retry_of,
               case when h.claimed_at is null then g.attempts else fairlead._one_more(g.attempts) end,
               g.max_attempts, g.crashes, g.losses,
               g.priority, a.outcome, g.queue, g.tenant, g.kind, g.payload, g.timeout, g.cost_hint,
               g.dedup_key, g.headers, a.result,
               case when a.outcome = 'succeeded' then a.error else coalesce(a.error, g.last_error) end,
               g.enqueued_by
        from gone g join asked a on a.id = g.id left join held h on h.job_id = g.id
    )
    insert into fairlead.receipts (ended, run_us)
    select array_agg(r.job_id),
           array_agg(coalesce(fairlead._epoch_us(clock_timestamp()) - fairlead._epoch_us(r.claimed_at), 0))
    from released r having count(*) > 0;
end;

-- Runs a job again. A scheduled job falls due now and keeps its id; one that is pending, queued or
-- running is left as it is. A finished one is inserted anew with retry_of, unless what repeats it, or
-- what repeats that, is unfinished still: then that job is answered, and so is the holder of its dedup
-- key when that is live. Null when there is no such job.
create or replace function fairlead.retry(job_id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    live bigint;
    wanted bigint := job_id;
    past fairlead.job_history;
    heir fairlead.job_history;
begin
    perform fairlead._require_read_committed();
    select j.id into live from fairlead.jobs j
    where j.id = retry.job_id and fairlead._sees(j.tenant) for update;
    if found then
        update fairlead.jobs j set run_at = clock_timestamp()
        where j.id = live and j.run_at > clock_timestamp();
        perform pg_notify('fairlead_scheduler', '');
        return live;
    end if;
    -- Another session that repeats it waits here, and sees in a new snapshot what was made.
    select h.* into past from fairlead.job_history h
    where h.id = retry.job_id and fairlead._sees(h.tenant) order by h.finished_at desc limit 1
    for update;
    if not found then
        return null;
    end if;
    heir := past;
    while heir.retried_as is not null loop
        select j.id into live from fairlead.jobs j where j.id = heir.retried_as;
        if found then
            return live;
        end if;
        select h.* into heir from fairlead.job_history h
        where h.id = heir.retried_as order by h.finished_at desc limit 1;
    end loop;
    if past.payload is null then
        raise exception 'fairlead: job % cannot be retried: its payload was not kept', job_id
            using errcode = 'FL004';
    end if;
    loop
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout, cost_hint,
            headers, retry_of, enqueued_by)
        values (past.queue, past.tenant, past.kind, past.payload, past.priority, past.dedup_key,
                past.max_attempts, past.timeout, past.cost_hint, past.headers, past.id,
                past.enqueued_by)
        on conflict do nothing returning id into live;
        if found then
            update fairlead.job_history h set retried_as = live
            where h.id = past.id and h.outcome = past.outcome and h.finished_at = past.finished_at;
            return live;
        end if;
        select j.id into live from fairlead.jobs j
        where j.queue = past.queue and j.tenant = past.tenant and j.dedup_key = past.dedup_key;
        -- Neither: the holder of the key ended between the two statements, so try the insert again.
        exit when live is not null;
    end loop;
    return live;
end $$;

-- Retries failed jobs whose endings lie behind (after_at, after_id), oldest first: looks at 10,000 at
-- most and makes jobs_max at most. Answers how many it made and where to go on, which is no place when
-- nothing lies behind.
create or replace function fairlead._redrive(
    queue text, tenant text, kind text, after_at timestamptz, after_id bigint, jobs_max integer,
    out made integer, out reached_at timestamptz, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare
    looked_max constant integer := 10000;
    old_ids bigint[];
    new_ids bigint[];
    first_at timestamptz;
    last_at timestamptz;
begin
    perform fairlead._require_read_committed();
    -- One redrive of a queue at a time, so that two cannot wait for each other's dedup keys. The next
    -- statement's snapshot has all that an earlier one made.
    perform pg_advisory_xact_lock(hashtextextended('fairlead.redrive ' || _redrive.queue, 0));
    with looked as materialized (
        select h.id, h.finished_at, h.tenant, h.kind, h.dedup_key, h.payload is not null as kept
        from fairlead.job_history_unsuccessful h
        where h.outcome = 'failed' and h.retried_as is null and h.queue = _redrive.queue
          and h.finished_at >= _redrive.after_at
          and (h.finished_at, h.id) > (_redrive.after_at, _redrive.after_id)
        order by h.finished_at, h.id limit looked_max
    ), picked as materialized (
        select l.id, l.finished_at from looked l
        where l.kept and (_redrive.tenant is null or l.tenant = _redrive.tenant)
          and (_redrive.kind is null or l.kind = _redrive.kind) and fairlead._sees(l.tenant)
          and not exists (
              select from fairlead.jobs k
              where k.queue = _redrive.queue and k.tenant = l.tenant and k.dedup_key = l.dedup_key
              offset 0)
        limit _redrive.jobs_max
    )
    select p.ids, p.first_at, p.last_at, e.finished_at, e.id
    into old_ids, first_at, last_at, reached_at, reached_id
    from (select array_agg(p.id) as ids, min(p.finished_at) as first_at, max(p.finished_at) as last_at,
                 count(*) >= _redrive.jobs_max as full from picked p) p
    left join lateral (
        (select k.finished_at, k.id from picked k
         where p.full order by k.finished_at desc, k.id desc limit 1)
        union all
        (select l.finished_at, l.id from looked l
         where not p.full and (select count(*) from looked) = looked_max
         order by l.finished_at desc, l.id desc limit 1)) e on true;
    with inserted as (
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout, cost_hint,
            headers, retry_of, enqueued_by)
        select h.queue, h.tenant, h.kind, h.payload, h.priority, h.dedup_key, h.max_attempts,
               h.timeout, h.cost_hint, h.headers, h.id, h.enqueued_by
        from (
            -- One that is locked is being retried.
            select * from fairlead.job_history_unsuccessful u
            where u.id = any (old_ids) and u.finished_at >= first_at and u.finished_at <= last_at
              and u.outcome = 'failed' and u.retried_as is null
            order by u.finished_at, u.id
            for update skip locked) h
        on conflict do nothing
        returning id, retry_of
    )
    select array_agg(i.retry_of order by i.retry_of), array_agg(i.id order by i.retry_of), count(*)
    into old_ids, new_ids, made
    from inserted i;
    -- Each finds the job that repeats it by its place among the sorted ids.
    update fairlead.job_history_unsuccessful h
    set retried_as = new_ids[width_bucket(h.id, old_ids)]
    where h.id = any (old_ids) and h.finished_at >= first_at and h.finished_at <= last_at
      and h.outcome = 'failed';
end $$;

-- The answer says as well whether the job's kind runs alone, and whether the job was asked to stop, for
-- whatever state the job is in because of it. The other tenant is named to those who may see its jobs.
create or replace function fairlead.explain(job_id bigint) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    answer jsonb := fairlead._explain(explain.job_id);
    kind text;
    workers bigint;
    asked record;
begin
    select j.kind into kind from fairlead.jobs j
    where j.id = explain.job_id and not answer ? 'asked'
      and answer ->> 'state' in ('pending', 'queued', 'running', 'scheduled');
    if kind is null then
        return answer;
    end if;
    select count(*) into workers from fairlead.worker_leases w
    where w.dead_at is null and w.lease_until > clock_timestamp()
      and w.crash_breakers @> jsonb_build_array(jsonb_build_array(kind, answer ->> 'tenant'));
    if workers > 0 then
        answer := answer || jsonb_build_object(
            'crash_breaker', jsonb_build_object('kind', kind, 'workers', workers),
            'sentence', format(
                '%s; jobs of kind %L of its tenant run one at a time on %s, because several have ended the '
                'process that ran them', answer ->> 'sentence', kind,
                case workers when 1 then '1 worker' else workers || ' workers' end));
    end if;
    select e.requested_at as at, e.for_queue as queue, e.for_tenant as tenant,
           fairlead._reads_all() or fairlead._owns(e.for_tenant, null) as visible,
           q.job_id is not null as runs
    into asked
    from fairlead.evictions e
    left join fairlead.work_queue q on q.job_id = e.job_id and q.token = e.token
    where e.job_id = explain.job_id;
    if asked.at is null then
        return answer;
    end if;
    return answer || jsonb_build_object(
        'evicted', jsonb_build_object('requested_at', asked.at)
            || case when asked.visible
                    then jsonb_build_object('for_queue', asked.queue, 'for_tenant', asked.tenant)
                    else '{}' end,
        'sentence', format(
            case when asked.runs then '%s, and was asked to stop at %s so that %s could run'
                 else '%s; it was asked to stop at %s so that %s could run' end,
            answer ->> 'sentence', asked.at,
            case when asked.visible then format('tenant %L of queue %L', asked.tenant, asked.queue)
                 else 'another tenant' end));
end $$;

