-- erase_history: delete up to %(limit)s finished jobs of a tenant behind an id; answers how many, and the id to go
--                on behind, null at the end.
-- locks: the rows that it deletes.
-- index: job_history_id, inside the function.
select r.erased, r.reached_id as after_id
from fairlead._erase_history(%(tenant)s::text, %(after_id)s::bigint, %(limit)s::integer) r
