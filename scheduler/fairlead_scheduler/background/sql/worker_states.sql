-- worker_states: how many workers of each pool are live, draining, or past their lease.
-- locks: none.
-- index: worker_leases_live, pod_drains_pkey
select c.pool, count(*) filter (where c.live and not c.draining) as live,
       count(*) filter (where c.live and c.draining) as draining,
       count(*) filter (where not c.live) as lapsed
from (
    select w.pool, w.lease_until > now() as live,
           w.draining or exists (
               select from fairlead.pod_drains d
               where d.pod_uid = w.pod_uid and d.drain_until > now()) as draining
    from fairlead.worker_leases w
    where w.dead_at is null and w.name > '') c
group by c.pool
