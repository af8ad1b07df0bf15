-- shares: how old the fairness report of each pool is, how even it says that things are, whether a
--         scheduler leads and it is that one's report, and the database's clock.
-- locks: none
-- index: leaders_pkey; fairness_reports has one row for each pool.
select r.pool, r.since, r.at, (r.report ->> 'slots')::bigint as slots,
       (r.report ->> 'slot_seconds')::double precision as slot_seconds,
       (r.report ->> 'jain')::double precision as jain,
       (r.report ->> 'jain_tenants')::bigint as jain_tenants,
       (r.report -> 'other' ->> 'tenants')::bigint as others,
       l.epoch is not null as led, l.epoch is not distinct from r.epoch as current,
       clock_timestamp() as now
from (select 1) always
left join fairlead.leaders l on l.role = 'scheduler' and l.lease_until > clock_timestamp()
left join fairlead.fairness_reports r on true
order by r.pool
