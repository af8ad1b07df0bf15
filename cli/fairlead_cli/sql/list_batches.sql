-- list_batches: the newest batches that the login may see, of a tenant and a state, and what each waits for. The database
--               says in a notice that there are older ones than it has looked at.
-- locks: none
-- index: batches_pkey, batches_tenant, batches_unfinished, batch_jobs_pkey, jobs_pkey, inside the function.
select l.*, clock_timestamp() as now
from fairlead.list_batches(%(tenant)s::text, %(state)s::text, %(limit)s::integer, %(before)s::bigint) l
