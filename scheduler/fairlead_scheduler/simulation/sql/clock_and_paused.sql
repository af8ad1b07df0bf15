-- clock_and_paused: the database's time and the paused queues and tenants.
-- locks: none.
-- index: paused_once
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       array_agg(p.queue) as queues, array_agg(p.tenant) as tenants
from fairlead.paused p
