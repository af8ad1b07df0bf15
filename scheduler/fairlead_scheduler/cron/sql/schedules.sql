-- schedules: the first %(limit)s schedules behind a place in the order of logins that made them, tenants and names,
--            with instants as microseconds. Sizes are taken as stored: that reads no payload.
-- locks: none.
-- index: schedules_login
select (extract(epoch from now()) * 1e6)::bigint as now_us, coalesce(s.created_by, '') as login, s.enabled,
       s.tenant, s.name, s.cron, s.timezone, s.missed,
       (extract(epoch from least(greatest(coalesce(s.considered_until, s.created_at),
                                          '1970-01-01 00:00+00'),
                                 now() + interval '1 year')) * 1e6)::bigint as considered_us, s.queue,
       coalesce(s.created_by = any ((select fairlead._administrators())::text[]), false) as by_admin,
       coalesce(pg_column_size(s.payload), 0) + coalesce(pg_column_size(s.headers), 0) as stored_bytes
from fairlead.schedules s
where (coalesce(s.created_by, ''), s.tenant, s.name) > (%(login)s, %(tenant)s, %(name)s)
order by coalesce(s.created_by, ''), s.tenant, s.name limit %(limit)s
