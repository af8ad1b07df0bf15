-- drop_orphan: delete claimed rows whose jobs are gone; a stale token deletes nothing.
-- locks: work_queue rows by job id.
-- index: work_queue_pkey
delete from fairlead.work_queue q
where q.job_id = any (%(ids)s::bigint[]) and q.token = any (%(tokens)s::bigint[])
returning q.token
