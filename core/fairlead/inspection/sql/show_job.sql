-- show_job: one job, wherever it is in its life.
-- locks: none
-- index: jobs_pkey, work_queue_pkey, job_history_id
select * from fairlead.job_status s where s.id = %(id)s
