-- schedules: the first schedules by name, of one tenant or of all, each with its last fire and with the
--            database's clock.
-- locks: none
-- index: schedule_fires_pkey, inside the function.
select s.name, s.tenant, s.cron, s.timezone, s.missed, s.enabled, s.queue, s.kind,
       s.declared_by, fairlead._last_fire(s.tenant, s.name) as last_fire, s.problem,
       clock_timestamp() as now
from fairlead.schedules s
where %(tenant)s::text is null or s.tenant = %(tenant)s
order by s.name, s.tenant limit %(limit)s
