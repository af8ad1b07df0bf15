-- workers: the live workers of the pool and their slots.
-- locks: none.
-- index: worker_leases_live
select w.id, w.slots
from fairlead.worker_leases w
where w.dead_at is null and w.lease_until > now() and w.pool = %(pool)s and w.name > ''
order by w.name
