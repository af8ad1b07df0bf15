-- pod_slots: the slots that the live workers of some pools have once all of their processes are up, and the
--            slots that they have now.
-- locks: none.
-- index: worker_leases_live
select w.id, w.pool, w.slots_full, w.slots
from fairlead.worker_leases w
where w.dead_at is null and w.lease_until > now() and w.name > '' and w.pool = any (%(pools)s::text[])
order by w.name
