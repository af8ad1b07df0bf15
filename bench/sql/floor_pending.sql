-- floor_pending: ids and tenants of the next %(limit)s pending jobs after %(after)s, as columns.
-- locks: none.
-- index: jobs_pkey
select array_agg(j.id) as ids, array_agg(j.tenant) as tenants
from (
    select id, tenant from fairlead.jobs
    where run_at is null and id > %(after)s order by id limit %(limit)s
) as j
