-- awaits_limits: whether the leader does not yet hold to what this worker has said of kinds. It asks while it starts.
-- locks: none.
-- index: worker_kind_limits_pkey, inside the function.
select fairlead.awaits_limits(%(worker)s)
