-- predecessors: the workers of one name and pod that are not marked dead.
-- locks: nothing.
-- index: worker_leases_live, inside the function.
select p.id from fairlead._predecessors(%(name)s, %(pod_uid)s) as p (id)
