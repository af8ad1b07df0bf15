-- workers: the live workers, their slots and their pools.
-- locks: none.
-- index: worker_leases_live
select w.id, w.slots, w.pool
from fairlead.worker_leases w
where w.dead_at is null and w.lease_until > now() and w.name > ''
order by w.name
