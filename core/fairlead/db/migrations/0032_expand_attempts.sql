-- What a worker does with queued and running jobs, as functions that serve a login only its own attempts.

-- --- claims ------------------------------------------------------------------------------------------

-- Whether there is a row that a claim would take, from the floor on or also below it, and whether it is time
-- for any worker to claim below it. A claim locks the worker's row and so writes to the log, even when it
-- finds nothing; this only reads.
create function fairlead._claimable(pool text, below_floor boolean)
returns table (claimable boolean, turn_due boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    select coalesce(bool_or(exists (
               select from fairlead.work_queue w
               where w.pool = _claimable.pool and w.band = f.band and w.band >= 0 and w.worker is null
                 and w.vtag >= case when below_floor then -1 else f.vtag end
               order by w.vtag, w.job_id limit 1)), false),
           coalesce(bool_or(f.full_claim_at < now() - interval '1 second'), false)
    from fairlead.claim_floors f
    where f.pool = _claimable.pool;
end $$;

-- May a worker of this pool claim below the floor now? One worker per pool may once a second, so that a row
-- that came back below the floor is claimed and cannot freeze virtual time. It does not wait for the disk: a
-- turn that a server crash forgets is taken again.
create function fairlead.take_floor_scan_turn(pool text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update fairlead.claim_floors f set full_claim_at = now()
    where f.pool = take_floor_scan_turn.pool and f.band = any (array(
        select c.band from fairlead.claim_floors c
        where c.pool = take_floor_scan_turn.pool and c.full_claim_at < now() - interval '1 second'
          and fairlead._may_serve(c.pool)
        for update skip locked));
    return found;
end $$;

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

-- Gives an attempt that is leased already its whole time from now on, and reads it with the columns of
-- claim, to run it in a quarantine process. A repeat does the same; no row: the token holds nothing.
create function fairlead._begin_in_quarantine(of_job bigint, of_token bigint) returns table (
    job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text,
    attempt integer, max_attempts integer, timeout_seconds double precision,
    timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text,
    checkpoint text, died_alone boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(array[of_job], array[of_token]);
begin
    return query
    with begun as (
        update fairlead.work_queue q
        set alone = true, deadline = greatest(q.deadline, fairlead._deadline(q.timeout))
        where q.job_id = of_job and q.token = any (own)
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    )
    select b.job_id, b.token, b.queue, b.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts),
           j.max_attempts, extract(epoch from b.timeout)::float8,
           extract(epoch from b.timeout_max)::float8, b.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(b.runnable_at)) / 1e6::float8,
           case when j.id is null then 'gone'
                when j.cancel_requested_at is not null then 'cancelled'
                when j.expires_at <= now() then 'expired' end, j.checkpoint,
           coalesce(j.lone_deaths, 0) > 0
    from begun b
    left join lateral (
        select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
               j.max_attempts, j.cancel_requested_at, j.expires_at, j.lone_deaths, j.checkpoint
        from fairlead.jobs j where j.id = b.job_id offset 0) j on true;
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
