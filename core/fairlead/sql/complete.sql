-- complete: finish a job in its handler's own transaction; a stale token raises FL001.
-- locks: the job's work_queue row, then its jobs row.
-- index: work_queue_pkey, jobs_pkey
select fairlead.complete(%s, %s, %s::jsonb)
