-- list_ended: the newest endings that pass the filters, among the 100,000 newest by job id.
-- locks: none
-- index: job_history_id
select c.id, c.outcome as state, c.queue, c.tenant, c.kind, c.attempt, c.max_attempts, c.priority,
       c.created_at, null::timestamptz as run_at, c.runnable_at, c.claimed_at, c.finished_at,
       null::real as progress, c.error
from (
    select h.id, h.outcome, h.queue, h.tenant, h.kind, h.attempt, h.max_attempts, h.priority,
           h.created_at, h.runnable_at, h.claimed_at, h.finished_at, h.error
    from fairlead.job_history h
    where %(state)s::text is null or h.outcome = %(state)s
    order by h.id desc limit 100000) c
where (%(queue)s::text is null or c.queue = %(queue)s)
  and (%(tenant)s::text is null or c.tenant = %(tenant)s)
  and (%(kind)s::text is null or c.kind = %(kind)s)
order by c.id desc limit %(limit)s
