-- mark_dead: mark workers whose lease lapsed as dead, so that they claim and finish nothing more; the steal
--            takes back what they held. No lease counts as lapsed until one full lease after the server's
--            start and after this leader's take-over.
-- locks: the leader's row (for key share), then workers by name (skip locked).
-- index: worker_leases_live, worker_leases_pkey, leaders_pkey
with lead as materialized (
    select from fairlead.leaders l
    where l.role = 'scheduler' and case
        when now() > greatest(l.taken_at, pg_postmaster_start_time())
                     + make_interval(secs => %(worker_lease_seconds)s)
             and exists (
                 select from fairlead.worker_leases w
                 where w.dead_at is null and w.lease_until < now())
        then fairlead._leads(%(epoch)s) end
)
update fairlead.worker_leases w set dead_at = now()
where w.id = any (array(
    select d.id from fairlead.worker_leases d
    where d.dead_at is null and d.lease_until < now() and exists (select from lead)
    order by d.name limit %(limit)s
    for update skip locked))
returning w.id, w.name
