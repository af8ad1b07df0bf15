-- mark_dead: end a worker's lease, so that it can neither claim nor renew, with an entry of the audit log.
-- locks: the worker's row.
-- index: worker_leases_pkey, inside the function.
select fairlead._release_worker(%(id)s) as was_live
