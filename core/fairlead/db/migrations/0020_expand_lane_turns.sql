-- Sweeps that take turns over lanes where one lane has a backlog of jobs that fell due or expired.

-- Lanes by jumping from one to the next, and in each what falls due and what expires, by the instant. One
-- index for both, since each costs every INSERT, also of jobs that have neither. Its condition is one that
-- only statements meant for it repeat, so that no other takes it for one that is in order of time.
create index jobs_lane_times on fairlead.jobs (queue, tenant, run_at, expires_at)
    where num_nonnulls(run_at, expires_at) > 0;

-- Ends the expired among jobs whose rows the caller has locked, unless they run; answers how many.
create function fairlead._end_expired(ids bigint[]) returns integer
language plpgsql as $$
declare
    free bigint[];
    errors text[];
begin
    if ids is null then
        return 0;
    end if;
    -- A new snapshot: what is not queued now cannot be queued while its row is held.
    select array_agg(u.id) into free from unnest(ids) as u (id)
    where not exists (select from fairlead.work_queue q where q.job_id = u.id);
    select free || array_agg(l.job_id) into free from (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (ids) and q.worker is null order by q.job_id
        for update skip locked) l;
    if cardinality(free) > 0 then
        select array_agg(case
                   when j.attempts = 0 and j.crashes = 0 and j.losses = 0 and j.last_error is null
                       then 'it expired while it waited to run'
                   else 'it expired while it waited to run again'
                        || coalesce('; before that: ' || nullif(j.last_error, ''), '') end
               order by j.id),
               array_agg(j.id order by j.id)
        into errors, free
        from fairlead.jobs j where j.id = any (free);
        perform fairlead._end_unstarted(free, 'expired', errors);
    end if;
    return coalesce(cardinality(free), 0);
end $$;

create or replace function fairlead._expire(my_epoch bigint, expired_from timestamptz, jobs_max integer)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    select array_agg(e.id) into ids from (
        select j.id from fairlead.jobs j
        where j.expires_at >= expired_from and j.expires_at <= now()
          and not exists (
              select from fairlead.work_queue q where q.job_id = j.id and q.worker is not null)
        order by j.expires_at limit jobs_max for update skip locked) e;
    return fairlead._end_expired(ids);
end $$;

-- As _expire, but of pending jobs only, and of one lane after another: of lanes_max lanes behind one, at
-- most lane_jobs_max each and jobs_max in all. Answers how many ended, how many lanes had any, and the
-- lane to go on behind, null at the end.
create function fairlead._expire_turns(
    my_epoch bigint, after_queue text, after_tenant text, lanes_max integer, lane_jobs_max integer,
    jobs_max integer,
    out ended integer, out lanes integer, out next_queue text, out next_tenant text)
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
        select e.id, w.queue, w.tenant from walked w cross join lateral (
            select j.id from fairlead.jobs j
            where num_nonnulls(j.run_at, j.expires_at) > 0 and j.queue = w.queue
              and j.tenant = w.tenant and j.run_at is null and j.expires_at <= now()
              and not exists (
                  select from fairlead.work_queue q
                  where q.job_id = j.id and q.worker is not null offset 0)
            order by j.run_at, j.expires_at limit lane_jobs_max for update skip locked) e
        -- A lane's pending jobs come after its scheduled ones in the index, and the first tells of both.
        where w.run_at is not null or w.expires_at <= now()
        limit jobs_max
    )
    select f.ids, f.lanes, case when f.jobs >= jobs_max then f.queue
                                when w.lanes >= lanes_max then w.queue end,
           case when f.jobs >= jobs_max then f.tenant when w.lanes >= lanes_max then w.tenant end
    into ids, lanes, next_queue, next_tenant
    from (
        select array_agg(e.id) as ids, count(*) as jobs,
               (select count(*) from (select from expired e group by e.queue, e.tenant) g) as lanes,
               (array_agg(e.queue))[count(*)] as queue, (array_agg(e.tenant))[count(*)] as tenant
        from expired e
    ) f cross join (
        select count(*) as lanes, (array_agg(v.queue))[count(*)] as queue,
               (array_agg(v.tenant))[count(*)] as tenant
        from walked v
    ) w;
    ended := fairlead._end_expired(ids);
end $$;
