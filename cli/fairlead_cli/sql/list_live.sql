-- list_live: the newest unfinished jobs that pass the filters, among the newest 100,000.
-- locks: none
-- index: jobs_pkey, work_queue_pkey
select s.id, s.state, s.queue, s.tenant, s.kind, s.attempt, s.max_attempts, s.priority, s.created_at,
       s.run_at, s.runnable_at, s.claimed_at, s.finished_at, s.progress, s.error
from unnest(array(
    select c.id from (
        select j.id, j.queue, j.tenant, j.kind, j.run_at from fairlead.jobs j
        order by j.id desc limit 100000) c
    where (%(queue)s::text is null or c.queue = %(queue)s)
      and (%(tenant)s::text is null or c.tenant = %(tenant)s)
      and (%(kind)s::text is null or c.kind = %(kind)s)
      and (%(state)s::text is null
           or (%(state)s = 'scheduled') = (c.run_at is not null)
              and (%(state)s = 'scheduled' or not exists (
                  select from fairlead.work_queue q where q.job_id = c.id)))
    order by c.id desc limit %(limit)s)) as p (id)
cross join lateral (select * from fairlead.job_status s where s.id = p.id offset 0) s
