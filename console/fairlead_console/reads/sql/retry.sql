-- retry: run one job again; answers the id of the job that will run, null when there is none.
-- locks: the job's row.
-- index: jobs_pkey, job_history_id, inside the function.
select fairlead.retry(%(id)s) as answer
