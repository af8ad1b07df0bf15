-- undrain: let a worker claim again, unless its pod is marked; returns a row if it may. A mark that has lapsed
--          is void from then on, even when it is prolonged at this very moment: so its row is read under its
--          lock.
-- locks: the worker's own row, then its pod's pod_drains row.
-- index: worker_leases_pkey, pod_drains_pkey
with me as materialized (
    select w.id, w.pod_uid from fairlead.worker_leases w
    where w.id = %(worker)s and w.dead_at is null for no key update
), mark as (
    update fairlead.pod_drains d
    set drained_at = case when d.drain_until > now() then d.drained_at end
    from me m where d.pod_uid = m.pod_uid
    returning d.drain_until > now() as holds
), free as (
    update fairlead.worker_leases w set draining = false
    from me m where w.id = m.id and not exists (select from mark k where k.holds)
    returning w.id
)
select f.id, pg_notify('fairlead_scheduler', '') from free f
