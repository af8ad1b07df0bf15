-- origins: when jobs were inserted, and which of their attempts was the last to end without finishing its job:
--          from these their traces get ids. Read for what was claimed, where attempts are traced.
-- locks: none.
-- index: jobs_pkey, attempt_errors_job, work_queue_pkey, inside the function.
select o.id, o.created_us, o.token, o.attempt, o.ended_as
from fairlead._origins(%(ids)s::bigint[], %(tokens)s::bigint[]) o
