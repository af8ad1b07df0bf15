-- cancel: cancel jobs by id, in the order of their ids; what became of each as JSON text.
-- locks: each job's row, then its work_queue row, until the transaction ends.
-- index: jobs_pkey, work_queue_pkey, job_history_id, inside the function.
select json_build_array(x.id, fairlead.cancel(x.id))::text
from (select distinct g.value::bigint as id from json_array_elements_text(%s::json) g order by 1) x
