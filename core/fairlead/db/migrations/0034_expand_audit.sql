-- The audit log: who changed what by hand, when and why. The functions themselves write it.

create table fairlead.audit (
    id               bigint      generated always as identity,
    at               timestamptz not null default clock_timestamp(),
    verb             text        collate "C" not null,
    job_id           bigint,
    queue            text        collate "C",
    tenant           text        collate "C",
    schedule         text        collate "C",
    version          bigint,
    details          jsonb,
    reason           text,
    actor            text,
    login            name        not null default session_user,
    application_name text        not null default current_setting('application_name'),
    -- In the order of time, in which it is listed and swept.
    primary key (at, id)
);
create index audit_job on fairlead.audit (job_id, at) where job_id is not null;
comment on table fairlead.audit is
    'The audit log: who cancelled, retried, redrove, paused, resumed, or changed a schedule or the policy by hand, '
    'when and why. Rows are only ever added, and swept after FAIRLEAD_HISTORY_DAYS_AUDIT days.';
comment on column fairlead.audit.job_id is 'Of what: a job, a queue, a tenant, a schedule, a version of the policy.';
comment on column fairlead.audit.details is 'What else there is to say, such as the columns that changed; never a payload.';
comment on column fairlead.audit.actor is
    'Who it was, as the session says in the setting fairlead.actor; login is who the database knows it was.';

create function fairlead._audit_stays() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'fairlead: entries of the audit log stay as they are, for 30 days at least'
        using errcode = 'insufficient_privilege';
end $$;
create trigger audit_stays before update or truncate on fairlead.audit
    for each statement execute function fairlead._audit_stays();
create trigger audit_stays_for_30_days before delete on fairlead.audit
    for each row when (old.at > now() - interval '30 days')
    execute function fairlead._audit_stays();

-- Adds an entry to the audit log, in the caller's transaction. Actor and reason come from the session's
-- settings fairlead.actor and fairlead.reason where those are set; queue and tenant from an unfinished job.
create function fairlead._record_audit(
    verb text, job_id bigint default null, queue text default null, tenant text default null,
    schedule text default null, version bigint default null, details jsonb default null,
    reason text default null, actor text default null
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if job_id is not null and queue is null then
        select j.queue, j.tenant into queue, tenant from fairlead.jobs j where j.id = _record_audit.job_id;
    end if;
    insert into fairlead.audit (verb, job_id, queue, tenant, schedule, version, details, reason, actor)
    values (_record_audit.verb, _record_audit.job_id, _record_audit.queue, _record_audit.tenant,
            _record_audit.schedule, _record_audit.version, _record_audit.details,
            left(coalesce(nullif(current_setting('fairlead.reason', true), ''),
                          nullif(_record_audit.reason, '')), 1024),
            left(coalesce(nullif(current_setting('fairlead.actor', true), ''),
                          nullif(_record_audit.actor, '')), 128));
end $$;

-- Deletes entries of the audit log that are older than so many days, oldest first and rows_max at most, and
-- answers how many. Nothing else deletes any. What is younger than 30 days stays, whatever it is asked.
create function fairlead._forget_audit(my_epoch bigint, days integer, rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    deleted integer;
begin
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    delete from fairlead.audit a
    where a.ctid = any (array(
        select o.ctid from fairlead.audit o
        where o.at < now() - make_interval(days => greatest(_forget_audit.days, 30))
        order by o.at, o.id limit least(_forget_audit.rows_max, 10000)
        for update skip locked));
    get diagnostics deleted = row_count;
    return deleted;
end $$;

-- Schedules have no functions: people and applications write the table. What the leader notes about them
-- (considered_until, problem) is no change by hand.
create function fairlead._audit_schedule() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    changed text[];
begin
    if tg_op = 'UPDATE' then
        select array_agg(n.key order by n.key) into changed
        from jsonb_each(to_jsonb(new)) n
        where n.key not in ('considered_until', 'problem') and n.value is distinct from to_jsonb(old) -> n.key;
        if changed is null then
            return null;
        end if;
        perform fairlead._record_audit(
            'change_schedule', queue => new.queue, tenant => new.tenant, schedule => new.name,
            details => jsonb_build_object('changed', changed, 'enabled', new.enabled));
    elsif tg_op = 'INSERT' then
        perform fairlead._record_audit(
            'add_schedule', queue => new.queue, tenant => new.tenant, schedule => new.name);
    else
        perform fairlead._record_audit(
            'remove_schedule', queue => old.queue, tenant => old.tenant, schedule => old.name);
    end if;
    return null;
end $$;
create trigger schedules_audit after insert or delete or update of
    name, cron, timezone, missed, enabled, queue, tenant, kind, payload, priority, max_attempts, timeout,
    expires_in, headers on fairlead.schedules
    for each row execute function fairlead._audit_schedule();

-- Cancels a job. Answers cancelled (it ended here and will not run), requested (it runs; its worker
-- learns of it at its next renewal, at the latest), finished, or unknown. A repeat is harmless.
create or replace function fairlead.cancel(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
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
    perform fairlead._record_audit('cancel', job_id => cancel.job_id);
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

-- Runs a job again. A scheduled job falls due now and keeps its id; one that is pending, queued or
-- running is left as it is. A finished one is inserted anew with retry_of, unless what repeats it, or
-- what repeats that, is unfinished still: then that job is answered, and so is the holder of its dedup
-- key when that is live. Null when there is no such job.
create or replace function fairlead.retry(job_id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
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
        if found then
            perform fairlead._record_audit('retry', job_id => live);
        end if;
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
            perform fairlead._record_audit(
                'retry', job_id => past.id, queue => past.queue, tenant => past.tenant,
                details => jsonb_build_object('runs_as', live));
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
) language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    old_ids bigint[];
    new_ids bigint[];
    first_at timestamptz;
    last_at timestamptz;
begin
    perform fairlead._require_read_committed();
    -- One redrive at a time, so that two cannot wait for each other's dedup keys. The next statement's
    -- snapshot has all that an earlier one made. An advisory lock could be held by any login.
    perform from fairlead.install_options o where o.only_row for no key update;
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
    if made > 0 then
        perform fairlead._record_audit(
            'redrive', queue => _redrive.queue, tenant => _redrive.tenant,
            details => jsonb_strip_nulls(jsonb_build_object('kind', _redrive.kind, 'jobs', made)));
    end if;
end $$;

-- Stops new dispatch of a queue, or of one tenant in it, from the scheduler's next tick; what is
-- queued is recalled within 2 s, what runs finishes. A repeat changes nothing.
create or replace function fairlead.pause(queue text, tenant text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
    if octet_length(pause.queue) not between 1 and 128 or octet_length(pause.tenant) > 128 then
        raise exception 'fairlead: queue must be 1 to 128 bytes and tenant at most 128'
            using errcode = 'check_violation';
    end if;
    if not fairlead._sees_all() and (pause.tenant is null or not fairlead._sees(pause.tenant)) then
        raise exception 'fairlead: this login may pause its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    insert into fairlead.paused (queue, tenant) values (pause.queue, pause.tenant)
    on conflict do nothing;
    if found then
        perform fairlead._record_audit('pause', queue => pause.queue, tenant => pause.tenant);
    end if;
    perform pg_notify('fairlead_scheduler', '');
end $$;

-- Ends a pause made with the same arguments; answers whether there was one.
create or replace function fairlead.resume(queue text, tenant text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    was_paused boolean;
begin
    if not fairlead._sees_all() and (resume.tenant is null or not fairlead._sees(resume.tenant)) then
        raise exception 'fairlead: this login may resume its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    delete from fairlead.paused p
    where p.queue = resume.queue and p.tenant is not distinct from resume.tenant;
    was_paused := found;
    if was_paused then
        perform fairlead._record_audit('resume', queue => resume.queue, tenant => resume.tenant);
    end if;
    perform pg_notify('fairlead_scheduler', '');
    return was_paused;
end $$;

-- Stores a policy document and answers its version, and whether it is new: what is in force already is
-- not stored again. One at a time, so that versions are in the order of their commits.
create or replace function fairlead.apply_policy(
    document text, digest text, author text default null, reason text default ''
) returns table (version bigint, stored boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    newest record;
    made bigint;
begin
    perform fairlead._require_read_committed();
    lock table fairlead.policy_versions in share row exclusive mode;
    select v.version, v.digest into newest from fairlead.policy_versions v
    order by v.version desc limit 1;
    if newest.digest = apply_policy.digest then
        return query select newest.version, false;
        return;
    end if;
    with kept as (
        insert into fairlead.policy_versions as v (document, digest, author, reason)
        values (apply_policy.document, apply_policy.digest,
                coalesce(nullif(apply_policy.author, ''), session_user), coalesce(apply_policy.reason, ''))
        returning v.version
    ), noted as (
        insert into fairlead.policy_events as e (version, event)
        select k.version, 'stored' from kept k
    )
    select k.version into made from kept k;
    perform fairlead._record_audit(
        'apply_policy', version => made, reason => apply_policy.reason, actor => apply_policy.author);
    perform pg_notify('fairlead_scheduler', 'policy');
    return query select made, true;
end $$;
