-- questions: what people ask about pending jobs, oldest first.
-- locks: none.
-- index: explain_requests_open
select r.id, r.queue, r.tenant, r.ahead, r.job_id
from fairlead.explain_requests r
where r.answered_at is null
order by r.id limit %(limit)s
