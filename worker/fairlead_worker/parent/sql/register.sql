-- register: insert a worker's row, with a lease and a new id, and wake the scheduler. It claims nothing if its
--           pod is marked, as one does whose container has restarted. A mark that has lapsed is void from then
--           on, even when it is prolonged at this very moment: so its row is read under its lock.
-- locks: the pod's pod_drains row; otherwise no row that exists.
-- index: pod_drains_pkey
with mark as (
    update fairlead.pod_drains d
    set drained_at = case when d.drain_until > now() then d.drained_at end
    where d.pod_uid = %(pod_uid)s
    returning d.drain_until > now() as holds, d.drained_at is not null as drained
), me as (
    insert into fairlead.worker_leases (
        lease_until, slots, slots_full, name, pool, host, pod_uid, pod_name, version, releases_slots,
        draining)
    values (
        now() + interval '1 second' * %(lease_seconds)s, %(slots)s, %(slots_full)s, %(name)s, %(pool)s,
        %(host)s, %(pod_uid)s, %(pod_name)s, %(version)s, %(releases_slots)s,
        exists (select from mark k where k.holds))
    returning id, draining
)
select m.id, m.draining, exists (select from mark k where k.drained) as drained,
       pg_notify('fairlead_scheduler', '')
from me m
