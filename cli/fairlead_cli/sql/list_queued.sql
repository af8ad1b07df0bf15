-- list_queued: the newest jobs of work_queue in one state, queued or running, that pass the filters.
-- locks: none
-- index: none of work_queue: it is shallow and read whole; jobs_pkey for what is returned.
select s.id, s.state, s.queue, s.tenant, s.kind, s.attempt, s.max_attempts, s.priority, s.created_at,
       s.run_at, s.runnable_at, s.claimed_at, s.finished_at, s.progress, s.error
from unnest(array(
    select q.job_id from fairlead.work_queue q
    where (q.worker is not null) = (%(state)s::text = 'running')
      and (%(queue)s::text is null or q.queue = %(queue)s)
      and (%(tenant)s::text is null or q.tenant = %(tenant)s)
      and (%(kind)s::text is null or %(kind)s = (
          select j.kind from fairlead.jobs j where j.id = q.job_id))
    order by q.job_id desc limit %(limit)s)) as p (id)
cross join lateral (select * from fairlead.job_status s where s.id = p.id offset 0) s
