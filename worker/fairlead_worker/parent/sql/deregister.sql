-- deregister: mark workers dead, so that they can claim and renew no more and nothing waits for their leases. A
--             repeat changes nothing.
-- locks: the workers' rows by id: waits for a claim that has locked one.
-- index: worker_leases_pkey
update fairlead.worker_leases w set dead_at = now()
where w.dead_at is null and w.id = any (array(
    select l.id from fairlead.worker_leases l
    where l.id = any (%(workers)s::bigint[]) and l.dead_at is null order by l.id for update))
returning w.id
