-- renew: renew a worker's lease, if its row is not dead, store how many slots it has now, how many jobs it
--        holds beside them, whose crash breakers are open and which kinds may be evicted (null: none), and
--        return which of the attempts that it runs are to be cancelled, on request or because their jobs are
--        gone, and which are to be evicted. No row: it is dead, and what it held may run elsewhere. If its pod
--        is marked, its claims are refused from now on, until undrain; marked is whether the mark is in force,
--        drained whether it is empty under it. It does not wait for the disk: forgetting it in a server crash
--        does no harm, for no lease lapses until one lease after the server's start, and drained is not stored
--        without the rows it depends on.
-- locks: the worker's own row: waits for a claim that has locked it.
-- index: worker_leases_pkey, pod_drains_pkey, work_queue_pkey, jobs_pkey, evictions_pkey, inside the function.
select r.cancelled, r.evicted, r.draining, r.marked, r.drained
from fairlead.renew_worker(
    %(worker)s, %(lease_seconds)s, %(slots)s, %(ids)s::bigint[], %(tokens)s::bigint[], %(beside)s,
    %(crash_breakers)s::jsonb, %(evictable_kinds)s::text[]) r
