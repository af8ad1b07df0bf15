-- What a worker does with queued and running jobs, as functions that serve a login only its own attempts.

-- --- claims ------------------------------------------------------------------------------------------

-- Tells the leader which queued rows a claim has just passed over, because the worker has no room for their
-- kinds: at most jobs_max. A repeat tells it again, which changes nothing.
create function fairlead._pass_over(worker bigint, full_kinds text[], jobs_max integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    insert into fairlead.receipts (worker, passed_over)
    select _pass_over.worker, array_agg(p.job_id)
    from (
        select q.job_id
        from fairlead.worker_leases m cross join lateral (
            select w.job_id
            from fairlead.claim_floors f cross join lateral (
                select w.job_id from fairlead.work_queue w
                where w.pool = f.pool and w.band = f.band and w.band >= 0 and w.worker is null
                  and w.vtag >= f.vtag
                  and (select j.kind from fairlead.jobs j where j.id = w.job_id)
                      = any (_pass_over.full_kinds)
                order by w.vtag, w.job_id limit _pass_over.jobs_max) w
            where f.pool = m.pool
            limit _pass_over.jobs_max) q
        where m.id = _pass_over.worker and fairlead._acts_for(m.login)) p
    having count(*) > 0;
end $$;

-- --- running attempts --------------------------------------------------------------------------------

-- Whether anything is pending, queued or running, or due again after an attempt. What the application scheduled
-- for later and has not fallen due yet does not count.
create function fairlead._unfinished() returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return exists (select from fairlead.jobs j where j.run_at is null)
        or exists (
            select from fairlead.jobs j
            where j.run_at is not null and (j.due_at is not null or j.run_at <= now())
            order by j.run_at);
end $$;

-- Which queues have something unfinished that is not scheduled for later, at most ten of them, and which of
-- those, or tenants of theirs, are paused. Asked by a worker that runs until empty, has nothing to do, and logs
-- what it waits for.
create function fairlead._awaited() returns table (queue text, paused boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    with recursive named as (
        (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
        union all
        select n.queue from named q cross join lateral (
            select j.queue from fairlead.jobs j
            where j.run_at is null and j.queue > q.queue order by j.queue limit 1) n
    )
    select q.queue, exists (select from fairlead.paused p where p.queue = q.queue)
    from named q limit 10;
end $$;
