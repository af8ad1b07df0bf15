-- deregister: mark workers dead, so that they can claim and renew no more and nothing waits for their leases. A
--             repeat changes nothing.
-- locks: the workers' rows by id: waits for a claim that has locked one.
-- index: worker_leases_pkey, inside the function.
select d.id from fairlead.deregister_workers(%(workers)s::bigint[]) as d (id)
