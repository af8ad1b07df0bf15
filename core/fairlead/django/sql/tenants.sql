-- tenants: what tenants had of each pool's slots, of those that the login may see, the most behind first.
-- locks: none
-- index: none: fairness_reports has one row for each pool.
select json_build_array(t.pool, t.queue, t.tenant)::text as key, t.pool, t.queue, t.tenant, t.weight,
       t.share, t.entitled_share, t.lag_slot_seconds, t.running, t.queued, t.oldest_wait_seconds,
       t.mean_run_seconds, t.blocked_by, t.at
from fairlead.tenant_shares t
where (%(pool)s::text is null or t.pool = %(pool)s)
  and (%(queue)s::text is null or t.queue = %(queue)s)
  and (%(tenant)s::text is null or t.tenant = %(tenant)s)
order by t.lag_slot_seconds, t.pool, t.queue, t.tenant limit %(rows_max)s
