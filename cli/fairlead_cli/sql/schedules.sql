-- schedules: the first schedules by name, of one tenant or of all, each with its last fire and with the
--            database's clock.
-- locks: none
-- index: schedule_fires_pkey
select s.name, s.tenant, s.cron, s.timezone, s.missed, s.enabled, s.queue, s.kind,
       f.fire_time as last_fire, s.problem, clock_timestamp() as now
from fairlead.schedules s
left join lateral (
    select f.fire_time from fairlead.schedule_fires f
    where f.tenant = s.tenant and f.schedule = s.name order by f.fire_time desc limit 1) f on true
where %(tenant)s::text is null or s.tenant = %(tenant)s
order by s.name, s.tenant limit %(limit)s
