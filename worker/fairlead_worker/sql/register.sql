-- register: give a worker its row, with a lease and a new id, and wake the scheduler.
-- locks: no row that exists.
-- index: none; it only inserts.
with me as (
    insert into fairlead.worker_leases (
        lease_until, slots, name, pool, host, pod_uid, pod_name, version)
    values (
        now() + interval '1 second' * %(lease_seconds)s, %(slots)s, %(name)s, %(pool)s, %(host)s,
        %(pod_uid)s, %(pod_name)s, %(version)s)
    returning id
)
select m.id, pg_notify('fairlead_scheduler', '') from me m
