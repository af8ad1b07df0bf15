-- forget_progress: delete the progress of attempts that have ended.
-- locks: job_progress rows by job id.
-- index: job_progress_pkey
delete from fairlead.job_progress p
where p.job_id = any (%(ids)s::bigint[]) and p.token = any (%(tokens)s::bigint[])
