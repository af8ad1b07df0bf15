-- cancel: cancel one job; answers cancelled, requested, finished or unknown.
-- locks: the job's row, then its work_queue row (skip locked).
-- index: jobs_pkey, work_queue_pkey, inside the function.
select fairlead.cancel(%(id)s) as answer
