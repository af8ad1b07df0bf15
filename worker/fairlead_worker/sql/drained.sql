-- drained: write that a marked pod's worker holds nothing, if that is so; no row: it is not so, or the
--          mark is over. No claim of it can come any more: draining was committed before this began, a
--          renewal waits for the claims before it, and a claim looks at draining under its lock.
-- locks: the pod's pod_drains row.
-- index: worker_leases_pkey, pod_drains_pkey; work_queue_pkey, whole: the queue is shallow, and this is
--        asked when the worker itself knows of nothing.
update fairlead.pod_drains d set drained_at = coalesce(d.drained_at, now())
from fairlead.worker_leases w
where w.id = %(worker)s and w.dead_at is null and w.draining and d.pod_uid = w.pod_uid
  and d.drain_until > now()
  and (select q.job_id from fairlead.work_queue q where q.worker = w.id order by q.job_id limit 1) is null
returning d.drained_at
