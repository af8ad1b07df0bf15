-- schedules: of each tenant the first %(most)s schedules by name: those that are enabled, with instants as
--            microseconds. The one behind them comes as well: its place says that its tenant has more. Missed
--            fires of a disabled one are decided when it is enabled again. Sizes are taken as stored: that reads
--            no payload.
-- locks: none.
-- index: schedules_pkey
with recursive tenant as (
    (select s.tenant from fairlead.schedules s order by s.tenant limit 1)
    union all
    select n.tenant from tenant t cross join lateral (
        select s.tenant from fairlead.schedules s
        where s.tenant > t.tenant order by s.tenant limit 1) n
)
select (extract(epoch from now()) * 1e6)::bigint as now_us, f.place,
       f.tenant, f.name, f.cron, f.timezone, f.missed,
       (extract(epoch from least(greatest(coalesce(f.considered_until, f.created_at),
                                          '1970-01-01 00:00+00'),
                                 now() + interval '1 year')) * 1e6)::bigint as considered_us, f.queue,
       coalesce(f.created_by = any ((select fairlead._administrators())::text[]), false) as by_admin,
       coalesce(pg_column_size(f.payload), 0) + coalesce(pg_column_size(f.headers), 0) as stored_bytes
from tenant t cross join lateral (
    select s.*, row_number() over () as place from (
        select * from fairlead.schedules s
        where s.tenant = t.tenant order by s.tenant, s.name limit %(most)s + 1) s) f
where f.enabled or f.place > %(most)s
