-- queues: what waits and runs in every queue, as fairlead.queue_stats says it, within bounds that all queues share: about
--         %(jobs)s jobs and %(tenants)s tenants are looked at, and a little of each of the first 1000 queues. Where a queue has
--         more tenants, its oldest wait is that of those looked at, or of those that the leader's report names: its pool's longest.
-- locks: none
-- index: jobs_lane, jobs_due, paused_once; work_queue is shallow and read whole, and a report is bounded.
with recursive named as (
    (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
    union all
    select n.queue from named l cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is null and j.queue > l.queue order by j.queue limit 1) n
), listed as materialized (
    select n.queue from named n limit 1000
), bound as materialized (
    select least(10000, greatest(100, %(jobs)s::integer / greatest(count(*), 1))) as jobs,
           least(1000, greatest(5, %(tenants)s::integer / greatest(count(*), 1))) as tenants
    from listed
), flying as materialized (
    select q.queue, count(*) as jobs from fairlead.work_queue q group by q.queue
), reported as materialized (
    select h.queue, min(h.at - h.oldest_wait_seconds * interval '1 second') as since
    from fairlead.tenant_shares h
    where h.oldest_wait_seconds > 0 and h.at > now() - interval '1 minute' group by h.queue
)
select s.queue,
       greatest(least(sum(s.due) - sum(s.queued) - sum(s.running), (select b.jobs from bound b)), 0)::bigint as pending,
       sum(s.due) - sum(s.queued) - sum(s.running) > (select b.jobs from bound b) as pending_is_more,
       sum(s.queued)::bigint as queued, sum(s.running)::bigint as running,
       sum(s.scheduled)::bigint as scheduled, min(s.next_run_at) as next_run_at,
       least(sum(s.tenants), (select b.tenants from bound b))::bigint as tenants,
       sum(s.tenants) > (select b.tenants from bound b) as tenants_is_more,
       case when sum(s.tenants) > (select b.tenants from bound b)
            then least(min(s.oldest_pending_at), (select r.since from reported r where r.queue = s.queue))
            else min(s.oldest_pending_at) end as oldest_pending_at,
       bool_or(s.paused) as paused,
       (select p.until from fairlead.paused p where p.queue = s.queue and p.tenant is null) as paused_until,
       sum(sum(s.scheduled)) over () > 10000 as scheduled_is_more,
       clock_timestamp() as now
from (
    select n.queue, d.due, 0 as tenants, null::timestamptz as oldest_pending_at,
           0 as queued, 0 as running, 0 as scheduled, null::timestamptz as next_run_at, false as paused
    from listed n cross join lateral (
        select count(*) as due from (
            select from fairlead.jobs j where j.queue = n.queue and j.run_at is null
            order by j.tenant, j.rank, j.seq
            limit (select b.jobs + 1 from bound b)
                  + coalesce((select f.jobs from flying f where f.queue = n.queue), 0)) b) d
    union all
    select n.queue, 0, 1, h.since, 0, 0, 0, null, false
    from listed n cross join lateral (
        with recursive lane as (
            (select j.tenant from fairlead.jobs j where j.queue = n.queue and j.run_at is null
             order by j.tenant limit 1)
            union all
            select t.tenant from lane l cross join lateral (
                select j.tenant from fairlead.jobs j
                where j.queue = n.queue and j.run_at is null and j.tenant > l.tenant
                order by j.tenant limit 1) t
        )
        select l.tenant from lane l limit (select b.tenants + 1 from bound b)) l
    left join lateral (
        select coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
        where j.queue = n.queue and j.tenant = l.tenant and j.run_at is null
          and not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
        order by j.rank, j.seq limit 1) h on true
    union all
    select q.queue, q.completed::integer, 0, null, (q.worker is null)::integer, (q.worker is not null)::integer, 0, null, false
    from fairlead.work_queue q
    union all
    (select j.queue, 0, 0, null, 0, 0, 1, j.run_at, false
     from fairlead.jobs j where j.run_at is not null order by j.run_at limit 10001)
    union all
    select p.queue, 0, 0, null, 0, 0, 0, null, true from fairlead.paused p where p.tenant is null
) s
group by s.queue order by s.queue
