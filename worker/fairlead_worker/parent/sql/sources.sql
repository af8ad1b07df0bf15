-- sources: the kind, the tenant and the crashes of the unfinished jobs of attempts. Asked of what ran in a
--          process that died, to find the suspects among them.
-- locks: none.
-- index: jobs_pkey, work_queue_pkey, inside the function.
select s.id, s.kind, s.tenant, s.crashes from fairlead._sources(%(ids)s::bigint[], %(tokens)s::bigint[]) s
