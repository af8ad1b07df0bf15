-- ending: how an attempt ended, by the history of its job or by its own record. If the attempt was
--                 lost, another session ended it.
-- locks: none.
-- index: job_history_id, attempt_errors_job
select h.outcome, h.result::text as result, h.error
from fairlead.job_history h
where h.id = %(job_id)s and h.token = %(token)s
union all
select 'retried', null, e.error
from fairlead.attempt_errors e
where e.job_id = %(job_id)s and e.token = %(token)s and e.ended_as <> 'lost'
limit 1
