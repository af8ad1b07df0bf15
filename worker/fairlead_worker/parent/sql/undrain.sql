-- undrain: let a worker claim again, unless its pod is marked; returns a row if it may.
-- locks: the worker's own row, then its pod's pod_drains row (skip locked): a login may hold any.
-- index: worker_leases_pkey, pod_drains_pkey, inside the function.
select u.id from fairlead.undrain_worker(%(worker)s) as u (id)
