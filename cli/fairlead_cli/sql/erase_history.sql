-- erase_history: delete up to %(limit)s finished jobs of a tenant behind an id, and errors of attempts whose jobs the
--                history has no more; answers how many jobs, and the id to go on behind, null at the end.
-- locks: the rows that it deletes.
-- index: job_history_id, attempt_errors_job, inside the function.
select r.erased, r.reached_id as after_id
from fairlead._erase_history(%(tenant)s::text, %(after_id)s::bigint, %(limit)s::integer) r
