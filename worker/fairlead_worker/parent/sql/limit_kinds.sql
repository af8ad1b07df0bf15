-- limit_kinds: say how many jobs of some kinds may run at once in the fleet. It replaces what the worker has said before.
-- locks: the worker's row (for key share) and its rows of worker_kind_limits.
-- index: worker_leases_pkey, worker_kind_limits_pkey, inside the function.
select fairlead.limit_kinds(%(worker)s, %(kinds)s::text[], %(limits)s::integer[])
