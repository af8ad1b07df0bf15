-- schedules: schedules by tenant and name, behind a place, each with its last fire, and whether its queue is paused.
-- locks: none
-- index: schedules_pkey; schedule_fires_pkey, inside the function; paused is small.
select s.name, s.tenant, s.cron, s.timezone, s.missed, s.enabled, s.queue, s.kind, s.declared_by, s.problem,
       fairlead._last_fire(s.tenant, s.name) as last_fire,
       exists (select from fairlead.paused p
               where p.queue = s.queue and (p.tenant is null or p.tenant = s.tenant)) as paused,
       clock_timestamp() as now
from (
    select * from fairlead.schedules s
    where %(name)s::text is null or (s.tenant, s.name) > (%(tenant)s::text, %(name)s::text)
    order by s.tenant, s.name limit %(limit)s) s
order by s.tenant, s.name
