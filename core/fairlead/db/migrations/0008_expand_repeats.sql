-- Running jobs again. What repeats a finished job is remembered with the original's own ending, in
-- retried_as, for as long as that is kept.

-- Runs a job again. A scheduled job falls due now and keeps its id; one that is pending, queued or
-- running is left as it is. A finished one is inserted anew with retry_of, unless what repeats it, or
-- what repeats that, is unfinished still: then that job is answered, and so is the holder of its dedup
-- key when that is live. Null when there is no such job.
create function fairlead.retry(job_id bigint) returns bigint
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
            headers, retry_of)
        values (past.queue, past.tenant, past.kind, past.payload, past.priority, past.dedup_key,
                past.max_attempts, past.timeout, past.cost_hint, past.headers, past.id)
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
create function fairlead._redrive(
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
            headers, retry_of)
        select h.queue, h.tenant, h.kind, h.payload, h.priority, h.dedup_key, h.max_attempts,
               h.timeout, h.cost_hint, h.headers, h.id
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

-- Retries failed jobs, oldest ending first, at most jobs_max of them, each once however often this is
-- called, also at the same time. One whose dedup key is live is left. Answers how many new jobs it
-- made; call again until it answers 0.
create function fairlead.redrive(
    queue text, tenant text default null, kind text default null,
    since timestamptz default '-infinity', jobs_max integer default 1000
) returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    made bigint := 0;
    step record;
    at timestamptz := since;
    id bigint := 0;
begin
    while made < jobs_max and at is not null loop
        step := fairlead._redrive(
            redrive.queue, redrive.tenant, redrive.kind, at, id, (jobs_max - made)::integer);
        made := made + step.made;
        at := step.reached_at;
        id := step.reached_id;
    end loop;
    return made;
end $$;
