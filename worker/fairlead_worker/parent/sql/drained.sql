-- drained: store that a marked pod holds nothing, if that is so; no row: it is not so, or the mark has lapsed.
--          No claim of its workers can be added any more: draining was committed before this began, a renewal
--          waits for the claims before it, and a claim reads draining under its lock. A pod usually has one
--          worker; where it has more, all of them have to be empty and to know of the mark.
-- locks: the pod's pod_drains row.
-- index: worker_leases_pkey, worker_leases_live, pod_drains_pkey; work_queue_pkey, whole: the queue is
--        shallow, and this is asked when the worker itself knows of nothing.
update fairlead.pod_drains d set drained_at = coalesce(d.drained_at, now())
from fairlead.worker_leases w
where w.id = %(worker)s and w.dead_at is null and w.draining and d.pod_uid = w.pod_uid
  and d.drain_until > now()
  and (select o.id from fairlead.worker_leases o
       where o.dead_at is null and o.lease_until > now() and o.pod_uid = w.pod_uid and not o.draining
       order by o.name limit 1) is null
  and (select q.job_id from fairlead.work_queue q
       where q.worker = any (array(
           select o.id from fairlead.worker_leases o
           where o.dead_at is null and (o.lease_until > now() or o.id = w.id) and o.pod_uid = w.pod_uid))
       order by q.job_id limit 1) is null
returning d.drained_at
