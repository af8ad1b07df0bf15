-- cancel_jobs: cancel up to %(limit)s unfinished jobs behind an id; answers how many ended, were asked to stop or were
--              locked, and the id to go on behind, null at the end, or once the id %(through)s is reached.
-- locks: the jobs' rows, then their work_queue rows (skip locked).
-- index: jobs_pkey, work_queue_pkey, inside the function.
select r.ended, r.requested, r.locked,
       case when r.reached_id < %(through)s::bigint then r.reached_id end as after_id, '' as after_at
from fairlead._cancel_jobs(
    %(queue)s::text, %(tenant)s::text, %(kind)s::text, %(after_id)s::bigint, %(limit)s::integer) r
