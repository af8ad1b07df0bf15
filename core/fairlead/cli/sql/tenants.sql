-- tenants: the tenants with most work, with the database's clock.
-- locks: none
-- index: jobs_lane; work_queue is shallow and read whole.
select s.*, clock_timestamp() as now from fairlead.tenant_stats s
where %(queue)s::text is null or s.queue = %(queue)s
order by s.pending + s.queued + s.running desc, s.queue, s.tenant limit %(limit)s
