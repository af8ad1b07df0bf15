-- rates: how far each rate is used up, by queue: the seconds of its window, and how many are spoken for. A rate of
--        tenants stands once, with the tenant that has used most.
-- locks: none
-- index: none: there is a row for each rate in use.
select distinct on (r.queue, r.per_us, r.tenant is null) r.queue, r.tenant, r.per_us / 1e6 as window_seconds,
       least(greatest(r.tat_us / 1e6 - extract(epoch from clock_timestamp()), 0), r.per_us / 1e6) as used_seconds
from (select * from fairlead.rate_usage r limit 20000) r
where r.queue = any (%(queues)s)
order by r.queue, r.per_us, r.tenant is null, r.tat_us desc
