-- announce_kinds: say for which kinds a worker has handlers, how many attempts a job of each has whose row says
--                 nothing, and which run at most once. It replaces what the worker has said before.
-- locks: the worker's row (for key share) and its row of worker_kinds.
-- index: worker_leases_pkey, worker_kinds_pkey, inside the function.
select fairlead.announce_kinds(%(worker)s, %(kinds)s::text[], %(max_attempts)s::integer[],
                               %(at_most_once)s::boolean[])
