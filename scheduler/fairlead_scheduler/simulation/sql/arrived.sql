-- arrived: the newest %(limit)s unfinished jobs: stream, kind, and since when each is runnable; null for
--          a scheduled job.
-- locks: none.
-- index: jobs_pkey
select j.queue, j.tenant, j.rank::integer as rank, j.kind,
       case when j.run_at is null
            then fairlead._epoch_us(coalesce(j.due_at, j.created_at)) end as since_us,
       fairlead._epoch_us(j.created_at) as created_us
from fairlead.jobs j
order by j.id desc limit %(limit)s
