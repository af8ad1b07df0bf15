-- schedules: every schedule and its last fire, with the database's clock.
-- locks: none
-- index: schedule_fires_pkey
select s.name, s.tenant, s.cron, s.timezone, s.missed, s.enabled, s.queue, s.kind,
       f.fire_time as last_fire, s.problem, clock_timestamp() as now
from fairlead.schedules s
left join lateral (
    select f.fire_time from fairlead.schedule_fires f
    where f.tenant = s.tenant and f.schedule = s.name order by f.fire_time desc limit 1) f on true
order by s.name, s.tenant limit 1000
