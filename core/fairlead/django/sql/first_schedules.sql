-- first_schedules: the first schedules by tenant and name that the login may see: of all, of a tenant, or one.
--                  Of those that fire, or do not, it looks for among the first 10,000.
-- locks: none
-- index: schedules_pkey; schedule_fires_pkey, inside the function.
select json_build_array(s.tenant, s.name)::text as key, s.name, s.tenant, s.cron, s.timezone, s.missed,
       s.enabled, s.queue, s.kind, s.payload, s.priority, s.max_attempts, s.timeout, s.expires_in,
       s.created_at, fairlead._last_fire(s.tenant, s.name) as last_fire, s.problem, s.declared_by
from (
    select * from fairlead.schedules f
    where (%(tenant)s::text is null or f.tenant = %(tenant)s)
      and (%(name)s::text is null or f.name = %(name)s)
    order by f.tenant, f.name limit 10000) s
where %(enabled)s::boolean is null or s.enabled = %(enabled)s
order by s.tenant, s.name limit %(rows_max)s
