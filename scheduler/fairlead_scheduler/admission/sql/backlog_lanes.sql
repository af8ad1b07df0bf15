-- backlog_lanes: the tenants with unfinished jobs that are due in these queues, by jumping from one to the next.
--                Backwards, as backlog_queues.
-- locks: none.
-- index: jobs_lane
with recursive due as (
    select q.queue, f.tenant from unnest(%(queues)s::text[]) as q (queue) cross join lateral (
        select j.tenant from fairlead.jobs j
        where j.run_at is null and j.queue = q.queue order by j.tenant desc limit 1) f
    union all
    select d.queue, n.tenant from due d cross join lateral (
        select j.tenant from fairlead.jobs j
        where j.run_at is null and j.queue = d.queue and j.tenant < d.tenant
        order by j.tenant desc limit 1) n
)
select d.queue, d.tenant from due d
