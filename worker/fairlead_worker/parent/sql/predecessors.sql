-- predecessors: the workers of one name and pod that are not marked dead.
-- locks: nothing.
-- index: worker_leases_live
select w.id from fairlead.worker_leases w
where w.dead_at is null and w.name = %(name)s and w.pod_uid is not distinct from %(pod_uid)s
order by w.id
