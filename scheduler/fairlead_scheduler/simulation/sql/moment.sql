-- moment: the database's time, and what is paused.
-- locks: none.
-- index: paused_once
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       array_agg(p.queue) as queues, array_agg(p.tenant) as tenants
from fairlead.paused p
