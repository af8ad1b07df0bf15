-- hand_back: end attempts that were cut short; returns the new state of each job: locked ones are to be tried
--            again. A repeat returns stale.
-- locks: jobs rows by id, then work_queue rows by job id (both skip locked).
-- index: jobs_pkey, work_queue_pkey
select e.job_id, e.token, e.became
from fairlead._end_attempts(
    %(ids)s::bigint[], %(tokens)s::bigint[], %(ended_as)s::text[], %(errors)s::text[],
    %(delays)s::interval[], true) e
