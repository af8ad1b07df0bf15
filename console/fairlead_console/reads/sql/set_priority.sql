-- set_priority: give one job that waits another priority; answers changed, unchanged, running, finished or unknown.
-- locks: the job's row.
-- index: jobs_pkey, work_queue_pkey, inside the function.
select fairlead.set_priority(%(id)s, %(priority)s::integer) as answer
