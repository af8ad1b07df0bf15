-- questions: unanswered questions about jobs, oldest first.
-- locks: none.
-- index: explain_requests_open, jobs_pkey
select r.id, r.queue, r.tenant, r.ahead, r.job_id,
       coalesce((select j.rank from fairlead.jobs j where j.id = r.job_id), 0) as rank
from fairlead.explain_requests r
where r.answered_at is null
order by r.id limit %(limit)s
