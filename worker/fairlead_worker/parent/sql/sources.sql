-- sources: the kind, the tenant and the crashes of unfinished jobs. Asked of what ran in a process that died, to
--          find the suspects among them.
-- locks: none.
-- index: jobs_pkey
select j.id, j.kind, j.tenant, j.crashes from fairlead.jobs j where j.id = any (%(ids)s::bigint[])
