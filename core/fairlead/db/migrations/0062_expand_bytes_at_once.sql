-- A statement that moves jobs, to the history, out of it or back, moves so many bytes of them at a time, and leaves
-- the rest to the next: a thousand jobs of 1 MiB take longer than a statement of the leader may. One login's jobs that
-- expired had its terms end, and no other's expired.

create function fairlead._bytes_at_once() returns bigint language sql immutable parallel safe return 16777216;

-- Both as they are stored: packed values are moved as they are.
create function fairlead._stored_bytes(payload jsonb, headers jsonb, error text) returns bigint
language sql stable parallel safe
return coalesce(pg_column_size(payload), 0)::bigint + coalesce(pg_column_size(headers), 0)
       + coalesce(pg_column_size(error), 0);

-- How many of the first of these are moved at once: all that begin within the bytes, and so one at least.
create function fairlead._fitting(sizes bigint[]) returns integer
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
begin atomic
    select count(*) filter (where f.reached - f.size < fairlead._bytes_at_once())::integer
    from (
        select s.size, sum(s.size) over (order by s.place) as reached
        from unnest(sizes) with ordinality as s (size, place)) f;
end;

-- Ends jobs that were to start before expires_at and have not; what runs is left to finish. One that has run before,
-- and waits to run again, keeps its last error. Answers how many ended, and jobs_max as well where others that it
-- found are left to the next step.
create function fairlead._expire(
    my_epoch bigint, expired_from timestamptz, jobs_max integer
) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
    sizes bigint[];
    fitting integer;
    ended integer;
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    select array_agg(e.id), array_agg(e.bytes) into ids, sizes from (
        select j.id, fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
        from fairlead.jobs j
        where j.expires_at >= expired_from and j.expires_at <= now()
          and not exists (
              select from fairlead.work_queue q where q.job_id = j.id and q.worker is not null)
        order by j.expires_at limit jobs_max for update skip locked) e;
    fitting := fairlead._fitting(sizes);
    ended := fairlead._end_expired(ids[:fitting]);
    return case when fitting < cardinality(ids) then jobs_max else ended end;
end $$;

-- As _expire, but of pending jobs only, and of one lane after another: of lanes_max lanes behind one, at most
-- lane_jobs_max each and jobs_max in all. Answers how many ended, how many lanes had any, and the lane to go on
-- behind, which is that of the last job that it took, null at the end.
create function fairlead._expire_turns(
    my_epoch bigint, after_queue text, after_tenant text, lanes_max integer, lane_jobs_max integer,
    jobs_max integer, out ended integer, out lanes integer, out next_queue text, out next_tenant text
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
begin
    perform fairlead._require_read_committed();
    ended := 0;
    lanes := 0;
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    with recursive lane as (
        (select j.queue, j.tenant, j.run_at, j.expires_at from fairlead.jobs j
         where num_nonnulls(j.run_at, j.expires_at) > 0
           and (j.queue, j.tenant) > (after_queue, after_tenant)
         order by j.queue, j.tenant, j.run_at, j.expires_at limit 1)
        union all
        select n.* from lane l cross join lateral (
            select j.queue, j.tenant, j.run_at, j.expires_at from fairlead.jobs j
            where num_nonnulls(j.run_at, j.expires_at) > 0
              and (j.queue, j.tenant) > (l.queue, l.tenant)
            order by j.queue, j.tenant, j.run_at, j.expires_at limit 1) n
    ), walked as materialized (
        select l.* from lane l limit lanes_max
    ), expired as materialized (
        select e.id, e.bytes, w.queue, w.tenant from walked w cross join lateral (
            select j.id, fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
            from fairlead.jobs j
            where num_nonnulls(j.run_at, j.expires_at) > 0 and j.queue = w.queue
              and j.tenant = w.tenant and j.run_at is null and j.expires_at <= now()
              and not exists (
                  select from fairlead.work_queue q
                  where q.job_id = j.id and q.worker is not null offset 0)
            order by j.run_at, j.expires_at limit lane_jobs_max for update skip locked) e
        -- A lane's pending jobs come after its scheduled ones in the index, and the first tells of both.
        where w.run_at is not null or w.expires_at <= now()
        limit jobs_max
    ), fitting as materialized (
        select s.* from (
            select e.*, sum(e.bytes) over (rows unbounded preceding) - e.bytes as before from expired e) s
        where s.before < fairlead._bytes_at_once()
    )
    select f.ids, f.lanes, case when f.jobs >= jobs_max or f.cut then f.queue
                                when w.lanes >= lanes_max then w.queue end,
           case when f.jobs >= jobs_max or f.cut then f.tenant when w.lanes >= lanes_max then w.tenant end
    into ids, lanes, next_queue, next_tenant
    from (
        select array_agg(e.id) as ids, count(*) as jobs,
               (select count(*) from (select from fitting e group by e.queue, e.tenant) g) as lanes,
               count(*) < (select count(*) from expired) as cut,
               (array_agg(e.queue))[count(*)] as queue, (array_agg(e.tenant))[count(*)] as tenant
        from fitting e
    ) f cross join (
        select count(*) as lanes, (array_agg(v.queue))[count(*)] as queue,
               (array_agg(v.tenant))[count(*)] as tenant
        from walked v
    ) w;
    ended := fairlead._end_expired(ids);
end $$;

-- Deletes what is stored of a tenant's finished jobs: history, errors of attempts, also of jobs that the history
-- has no more, and progress, in the order of the jobs' ids. Looks at 10,000 endings and 10,000 errors behind
-- after_id at most, and erases jobs_max jobs at most. Answers how many it erased, and the id to go on behind, null
-- at the end. A crash leaves whole batches; a repeat goes on with the rest.
create function fairlead._erase_history(
    tenant text, after_id bigint, jobs_max integer, out erased integer, out reached_id bigint
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    behind constant bigint := coalesce(_erase_history.after_id, 0);
    wanted integer := least(greatest(_erase_history.jobs_max, 0), looked_max);
    ids bigint[];
    sizes bigint[];
    fitting integer;
begin
    if not fairlead._sees(_erase_history.tenant) then
        raise exception 'fairlead: this login may erase its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    perform fairlead._require_read_committed();
    with ended as materialized (
        select h.id, h.tenant,
               fairlead._stored_bytes(h.payload, h.headers, h.error) + coalesce(pg_column_size(h.result), 0) as bytes
        from fairlead.job_history h where h.id > behind order by h.id limit looked_max
    ), failed as materialized (
        select e.job_id as id, e.tenant from fairlead.attempt_errors e
        where e.job_id > behind order by e.job_id limit looked_max
    ), looked as materialized (
        select least((select max(h.id) from ended h having count(*) = looked_max),
                     (select max(e.id) from failed e having count(*) = looked_max)) as last
    ), picked as materialized (
        select a.id, max(a.bytes) as bytes from (
            select h.id, h.bytes from ended h where h.tenant = _erase_history.tenant
            union
            select e.id, 0 from failed e
            where e.tenant = _erase_history.tenant
              and not exists (select from fairlead.jobs j where j.id = e.id offset 0)) a
        where a.id <= coalesce((select l.last from looked l), a.id) group by a.id order by a.id limit wanted
    )
    select p.ids, p.sizes, case when p.many >= wanted then p.last else (select l.last from looked l) end
    into ids, sizes, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, array_agg(k.bytes) as sizes, count(*) as many,
                 max(k.id) as last from picked k) p;
    fitting := fairlead._fitting(sizes);
    if fitting < cardinality(ids) then
        reached_id := ids[fitting];
        ids := ids[:fitting];
    end if;
    erased := cardinality(ids);
    if erased > 0 then
        delete from fairlead.job_history h where h.id = any (ids) and h.tenant = _erase_history.tenant;
        delete from fairlead.attempt_errors e where e.job_id = any (ids);
        delete from fairlead.job_progress p where p.job_id = any (ids);
        perform fairlead._record_audit(
            'erase_tenant', queue => '', tenant => _erase_history.tenant,
            details => jsonb_build_object('jobs', erased));
    end if;
end $$;
