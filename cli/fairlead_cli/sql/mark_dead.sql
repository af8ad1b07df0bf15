-- mark_dead: end a worker's lease, so that it can neither claim nor renew.
-- locks: the worker's row.
-- index: worker_leases_pkey
update fairlead.worker_leases w set dead_at = clock_timestamp()
where w.id = %(id)s and w.dead_at is null
returning w.id
