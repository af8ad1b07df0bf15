-- Running jobs again. What repeats a finished job is remembered with the original's own ending, in
-- retried_as, for as long as that is kept.

-- Retries failed jobs whose endings lie behind (after_at, after_id), oldest first: looks at 10,000 at most and makes
-- jobs_max at most, of so many bytes as are moved at once. Answers how many it made, where to go on, which is no
-- place when nothing lies behind, and how many bytes those have that it made.
create function fairlead._redrive(
    queue text, tenant text, kind text, after_at timestamptz, after_id bigint, jobs_max integer,
    out made integer, out reached_at timestamptz, out reached_id bigint, out made_bytes bigint
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_sort = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    old_ids bigint[];
    new_ids bigint[];
    first_at timestamptz;
    last_at timestamptz;
begin
    perform fairlead._require_read_committed();
    -- One redrive at a time, so that two cannot wait for each other's dedup keys. The next statement's
    -- snapshot has all that an earlier one made. Nobody but the owner can lock this row.
    perform from fairlead.schema_versions v where v.version = 1 for no key update;
    with looked as materialized (
        select h.id, h.finished_at, h.tenant, h.kind, h.dedup_key, h.payload is not null as kept,
               fairlead._stored_bytes(h.payload, h.headers, h.error) as bytes
        from fairlead.job_history_unsuccessful h
        where h.outcome = 'failed' and h.retried_as is null and h.queue = _redrive.queue
          and h.finished_at >= _redrive.after_at
          and (h.finished_at, h.id) > (_redrive.after_at, _redrive.after_id)
        order by h.finished_at, h.id limit looked_max
    ), found as materialized (
        select l.id, l.finished_at, l.bytes from looked l
        where l.kept and (_redrive.tenant is null or l.tenant = _redrive.tenant)
          and (_redrive.kind is null or l.kind = _redrive.kind) and fairlead._sees(l.tenant)
          and not exists (
              select from fairlead.jobs k
              where k.queue = _redrive.queue and k.tenant = l.tenant and k.dedup_key = l.dedup_key
              offset 0)
        limit _redrive.jobs_max
    ), picked as materialized (
        select s.id, s.finished_at from (
            select f.*, sum(f.bytes) over (rows unbounded preceding) - f.bytes as before from found f) s
        where s.before < fairlead._bytes_at_once()
    )
    select p.ids, p.first_at, p.last_at, e.finished_at, e.id
    into old_ids, first_at, last_at, reached_at, reached_id
    from (select array_agg(p.id) as ids, min(p.finished_at) as first_at, max(p.finished_at) as last_at,
                 count(*) >= _redrive.jobs_max or count(*) < (select count(*) from found) as full
          from picked p) p
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
        returning id, retry_of, fairlead._stored_bytes(payload, headers, null) as bytes
    )
    select array_agg(i.retry_of order by i.retry_of), array_agg(i.id order by i.retry_of), count(*),
           coalesce(sum(i.bytes), 0)
    into old_ids, new_ids, made, made_bytes
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

-- Retries failed jobs, oldest ending first, at most jobs_max of them, each once however often this is called, also at
-- the same time. One whose dedup key is live is left. A call ends after the step with which the jobs that it made
-- have so many bytes as are moved at once. Answers how many it made; call again until it answers 0.
create function fairlead.redrive(
    queue text, tenant text default null, kind text default null,
    since timestamptz default '-infinity', jobs_max integer default 1000
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    made bigint := 0;
    step record;
    at timestamptz := since;
    id bigint := 0;
    bytes bigint := 0;
begin
    while made < jobs_max and at is not null and bytes < fairlead._bytes_at_once() loop
        step := fairlead._redrive(
            redrive.queue, redrive.tenant, redrive.kind, at, id, (jobs_max - made)::integer);
        made := made + step.made;
        at := step.reached_at;
        id := step.reached_id;
        bytes := bytes + step.made_bytes;
    end loop;
    return made;
end $$;
