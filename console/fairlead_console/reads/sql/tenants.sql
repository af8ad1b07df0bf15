-- tenants: %(limit)s tenants: those that the leader's report says had most of the slots, are furthest behind or wait longest,
--          then the first by name. What waits of each is counted up to 1000. What they had is null without a report of it.
-- locks: none
-- index: jobs_lane, paused_once; work_queue is shallow and read whole, and a report is bounded.
with recursive lane as (
    (select j.queue, j.tenant from fairlead.jobs j
     where j.run_at is null and (j.queue, j.tenant) >= (coalesce(%(queue)s::text, ''), '')
     order by j.queue, j.tenant limit 1)
    union all
    select n.queue, n.tenant from lane l cross join lateral (
        select j.queue, j.tenant from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant) > (l.queue, l.tenant)
        order by j.queue, j.tenant limit 1) n
    where %(queue)s::text is null or n.queue = %(queue)s
), shared as materialized (
    select h.*, least(row_number() over (order by h.slot_seconds desc, h.queue, h.tenant),
                      4 * row_number() over (order by h.lag_slot_seconds, h.queue, h.tenant),
                      4 * row_number() over (order by h.oldest_wait_seconds desc nulls last, h.queue, h.tenant)) as place
    from fairlead.tenant_shares h where %(queue)s::text is null or h.queue = %(queue)s
), named as materialized (
    select c.queue, c.tenant
    from (
        select s.queue, s.tenant, s.place from shared s
        union all
        (select l.queue, l.tenant, 1000000 from lane l where %(queue)s::text is null or l.queue = %(queue)s
         limit %(limit)s)) c
    group by c.queue, c.tenant order by min(c.place), c.queue, c.tenant limit %(limit)s
), flight as materialized (
    select q.queue, q.tenant, count(*) filter (where q.completed) as completed,
           count(*) filter (where q.worker is null) as queued, count(*) filter (where q.worker is not null) as running
    from fairlead.work_queue q group by q.queue, q.tenant
)
select n.queue, n.tenant,
       greatest(least(d.due + coalesce(f.completed - f.queued - f.running, 0), 1000), 0) as pending,
       d.due + coalesce(f.completed - f.queued - f.running, 0) > 1000 as pending_is_more,
       coalesce(f.queued, 0) as queued, coalesce(f.running, 0) as running, w.since as oldest_pending_at,
       h.pool, h.weight, h.share, h.entitled_share, h.slot_seconds, h.lag_slot_seconds,
       h.oldest_wait_seconds, h.mean_run_seconds, h.blocked_by, h.blocked_since, h.since, h.at,
       clock_timestamp() as now, exists (
           select from fairlead.paused p
           where p.queue = n.queue and (p.tenant is null or p.tenant = n.tenant)) as paused
from named n
left join flight f on f.queue = n.queue and f.tenant = n.tenant
cross join lateral (
    select count(*) as due from (
        select from fairlead.jobs j where j.queue = n.queue and j.tenant = n.tenant and j.run_at is null
        order by j.rank, j.seq limit 1001 + coalesce(f.queued + f.running, 0)) b) d
left join lateral (
    select coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
    where j.queue = n.queue and j.tenant = n.tenant and j.run_at is null
      and not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
    order by j.rank, j.seq limit 1) w on true
left join shared h on h.queue = n.queue and h.tenant = n.tenant
order by d.due + coalesce(f.completed, 0) desc, coalesce(h.slot_seconds, 0) desc, n.queue, n.tenant
