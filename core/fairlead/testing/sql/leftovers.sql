-- leftovers: rows of work_queue that no live worker runs: unclaimed (token null), queued by a
--               scheduler that has stopped, or claimed by a worker that is dead.
-- locks: none.
-- index: work_queue_pkey, worker_leases_pkey
select q.job_id, q.token
from fairlead.work_queue q
where q.pool = %(pool)s
  and not exists (
      select from fairlead.worker_leases w
      where w.id = q.worker and w.dead_at is null offset 0)
order by q.job_id limit %(limit)s
