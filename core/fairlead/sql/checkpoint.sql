-- checkpoint: store what a job goes on from, in its handler's own transaction; a stale token raises FL001.
-- locks: the job's jobs row.
-- index: work_queue_pkey, jobs_pkey
select fairlead.checkpoint(%s, %s, %s::jsonb)
