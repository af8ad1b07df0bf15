-- tenants: the tenants with most work, whether they or their queues are paused, and the database's clock.
-- locks: none
-- index: jobs_lane, paused_once; work_queue is shallow and read whole.
select s.*, clock_timestamp() as now, exists (
    select from fairlead.paused p
    where p.queue = s.queue and (p.tenant is null or p.tenant = s.tenant)) as paused
from fairlead.tenant_stats s
where %(queue)s::text is null or s.queue = %(queue)s
order by s.pending + s.queued + s.running desc, s.queue, s.tenant limit %(limit)s
