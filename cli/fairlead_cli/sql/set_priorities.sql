-- set_priorities: give up to %(limit)s jobs that wait behind an id another priority; answers how many it changed, how
--                 many run or were locked, and the id to go on behind, null at the end.
-- locks: the jobs' rows (skip locked).
-- index: jobs_pkey, work_queue_pkey, inside the function.
select r.changed, r.running, r.locked, r.reached_id as after_id
from fairlead._set_priorities(
    %(priority)s::integer, %(queue)s::text, %(tenant)s::text, %(kind)s::text, %(after_id)s::bigint,
    %(limit)s::integer) r
