-- tenants: the tenants with most work, or that had most of the slots of late; whether they or their
--          queues are paused, and the database's clock. What they had is null without a report of it.
-- locks: none
-- index: jobs_lane, paused_once; work_queue is shallow and read whole, and a report is bounded.
select coalesce(s.queue, h.queue) as queue, coalesce(s.tenant, h.tenant) as tenant,
       coalesce(s.pending, 0) as pending, coalesce(s.pending_is_more, false) as pending_is_more,
       coalesce(s.queued, 0) as queued, coalesce(s.running, 0) as running,
       s.oldest_pending_at, s.oldest_runnable_at,
       h.pool, h.weight, h.share, h.entitled_share, h.slot_seconds, h.lag_slot_seconds,
       h.oldest_wait_seconds, h.mean_run_seconds, h.blocked_by, h.blocked_since, h.since, h.at,
       clock_timestamp() as now, exists (
           select from fairlead.paused p
           where p.queue = coalesce(s.queue, h.queue)
             and (p.tenant is null or p.tenant = coalesce(s.tenant, h.tenant))) as paused
from fairlead.tenant_stats s
full join fairlead.tenant_shares h on h.queue = s.queue and h.tenant = s.tenant
where %(queue)s::text is null or coalesce(s.queue, h.queue) = %(queue)s
order by coalesce(s.pending + s.queued + s.running, 0) desc, coalesce(h.slot_seconds, 0) desc,
         1, 2
limit %(limit)s
