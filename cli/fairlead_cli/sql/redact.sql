-- redact: take out of a finished job what it carried; answers redacted, unfinished or unknown.
-- locks: the job's row in the history.
-- index: jobs_pkey, job_history_id, inside the function.
select fairlead.redact(%(id)s) as answer
