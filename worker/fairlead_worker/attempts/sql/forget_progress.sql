-- forget_progress: delete the progress of attempts that have ended.
-- locks: job_progress rows by job id.
-- index: job_progress_pkey, work_queue_pkey, inside the function.
select fairlead._forget_progress(%(ids)s::bigint[], %(tokens)s::bigint[])
