-- retry: run a job again; the id under which it runs, or null.
-- locks: the job's row, or that of its ending, until the transaction ends.
-- index: jobs_pkey, job_history_id, inside the function.
select fairlead.retry(g.value::bigint) from json_array_elements_text(%s::json) g
