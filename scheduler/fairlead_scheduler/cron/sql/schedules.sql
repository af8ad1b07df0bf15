-- schedules: every enabled schedule, with instants as microseconds. Missed fires of a disabled one are
--            decided when it is enabled again.
-- locks: none.
-- index: schedules_pkey
select s.tenant, s.name, s.cron, s.timezone, s.missed,
       (extract(epoch from least(greatest(coalesce(s.considered_until, s.created_at),
                                          '1970-01-01 00:00+00'),
                                 now() + interval '1 year')) * 1e6)::bigint as considered_us,
       (extract(epoch from now()) * 1e6)::bigint as now_us
from fairlead.schedules s
where s.tenant >= '' and s.enabled
order by s.tenant, s.name
