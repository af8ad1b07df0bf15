-- crash_breakers: kinds of a tenant that run one at a time on living workers, because several of their jobs have
--                 ended the process that ran them, and on how many.
-- locks: none
-- index: none: there is one row per process.
select b.source ->> 0 as kind, b.source ->> 1 as tenant, count(*) as workers
from fairlead.worker_leases w cross join lateral jsonb_array_elements(w.crash_breakers) b (source)
where w.dead_at is null and w.lease_until > clock_timestamp()
  and (fairlead._sees_all() or fairlead._sees(b.source ->> 1))
group by b.source order by workers desc, b.source limit 1000
