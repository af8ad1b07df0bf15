-- register: insert a worker's row, with a lease and a new id, and wake the scheduler. It claims nothing if its
--           pod is marked, as one does whose container has restarted.
-- locks: the pod's pod_drains row (skip locked): a login may hold any; otherwise no row that exists.
-- index: pod_drains_pkey, inside the function.
select r.worker, r.draining, r.drained
from fairlead.register_worker(
    %(name)s, %(pool)s, %(slots)s, %(lease_seconds)s, %(slots_full)s, %(host)s, %(pod_uid)s, %(pod_name)s,
    %(version)s, %(releases_slots)s) r
