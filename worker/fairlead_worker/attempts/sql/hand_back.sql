-- hand_back: end attempts that were cut short; returns the new state of each job, its queue and its kind:
--            locked ones are to be tried again. A repeat returns stale.
-- locks: jobs rows by id, then work_queue rows by job id (both skip locked).
-- index: jobs_pkey, work_queue_pkey, inside the function.
select e.job_id, e.token, e.became, e.queue, e.kind
from fairlead.hand_back(
    %(ids)s::bigint[], %(tokens)s::bigint[], %(ended_as)s::text[], %(errors)s::text[],
    %(delays)s::interval[]) e
