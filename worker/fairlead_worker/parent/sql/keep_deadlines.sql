-- keep_deadlines: move the deadlines of suspect attempts that wait for a quarantine process to their whole time
--                 from now, and to a lease at least: their worker lives and has no process for them yet.
-- locks: work_queue rows by job id (skip locked).
-- index: work_queue_pkey, inside the function.
select k.token
from fairlead._keep_deadlines(%(ids)s::bigint[], %(tokens)s::bigint[], %(lease_seconds)s) as k (token)
