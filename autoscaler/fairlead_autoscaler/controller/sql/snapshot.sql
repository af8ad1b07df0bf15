-- snapshot: all that the autoscaler needs to know of all pools, in one row: demand, live workers with
--           their drain marks, the jobs that pods hold and their remaining time, the server's connections,
--           the newest policy unless it is the known one, and, while a pool is at zero, the queues that
--           have a job that is due, 1,000 at most. `held` is materialized, as otherwise its arithmetic is
--           repeated for each of the five sums; its numbers are doubles.
-- locks: none.
-- index: jobs_lane and jobs_due for the queues, else small tables that are read whole
with recursive busy as (
    (select j.queue from fairlead.jobs j
     where %(asks_queues)s and j.run_at is null order by j.queue limit 1)
    union all
    select n.queue from busy b cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is null and j.queue > b.queue order by j.queue limit 1) n
), late as (
    select j.queue from fairlead.jobs j
    where %(asks_queues)s and j.run_at <= now() order by j.run_at limit 1000
), served as (
    select d.pool, d.service_mean,
           least(1, case when d.service_mean > 0
                         then d.service_variance / d.service_mean ^ 2 else 0 end) as spread
    from fairlead.pool_demand d
), held as materialized (
    select w.pod_uid, w.pool, s.service_mean,
           greatest(abs(t.estimate - t.age), s.spread * greatest(t.estimate, t.age)) as left_seconds
    from fairlead.work_queue q
    join fairlead.worker_leases w on w.id = q.worker
    cross join lateral (
        select greatest(0, (fairlead._epoch_us(now()) - fairlead._epoch_us(q.claimed_at))
                           / 1e6::double precision) as age,
               q.estimate_us / 1e6::double precision as estimate) t
    left join served s on s.pool = q.pool
    where w.pod_uid is not null
), loads as (
    select h.pod_uid, h.pool, count(*) as jobs, sum(h.left_seconds) as slot_seconds,
           max(h.left_seconds) as longest_seconds,
           count(*) filter (where h.service_mean > 0
                            and h.left_seconds > 3 * h.service_mean) as long_jobs
    from held h
    group by h.pod_uid, h.pool
)
select clock_timestamp() as now,
       (select coalesce(json_agg(d), '[]')::text from fairlead.pool_demand d) as demand,
       (select coalesce(json_agg(json_build_object(
                   'pool', w.pool, 'pod_uid', w.pod_uid,
                   'slots_full', coalesce(w.slots_full, w.slots), 'registered_at', w.started_at,
                   'drain_until', m.drain_until, 'drained_at', m.drained_at)), '[]')::text
        from fairlead.worker_leases w
        left join fairlead.pod_drains m on m.pod_uid = w.pod_uid
        where w.dead_at is null and w.lease_until > now() and w.pod_uid is not null) as workers,
       (select coalesce(json_agg(l), '[]')::text from loads l) as loads,
       current_setting('max_connections')::integer as connections_max,
       current_setting('superuser_reserved_connections')::integer
           + coalesce(current_setting('reserved_connections', true)::integer, 0) as connections_reserved,
       (select json_build_object(
                   'version', v.version, 'digest', v.digest,
                   'document', case when v.version is distinct from %(known)s::bigint
                                    then v.document end)::text
        from fairlead.policy_versions v order by v.version desc limit 1) as policy,
       (select coalesce(array_agg(distinct f.queue), '{}')
        from ((select b.queue from busy b limit 1000) union all select l.queue from late l) f) as queues
