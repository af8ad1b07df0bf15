-- cancel_jobs: cancel unfinished jobs of a queue, a tenant and a kind; how many there were as JSON text.
-- locks: the rows of these jobs and of work_queue, until the transaction ends.
-- index: as the function says.
select json_build_array(c.cancelled, c.locked)::text
from json_to_record(%s::json) as w (queue text, tenant text, kind text, jobs_max integer)
cross join lateral fairlead.cancel_jobs(w.queue, w.tenant, w.kind, w.jobs_max) c
