-- arrived: the newest %(limit)s unfinished jobs: stream, kind, and since when each is runnable; null for
--          a scheduled job.
-- locks: none.
-- index: jobs_pkey
select j.queue, j.tenant, j.rank::integer as rank, j.kind,
       case when j.run_at is null
            then (extract(epoch from coalesce(j.due_at, j.created_at)) * 1e6)::bigint end as since_us,
       (extract(epoch from j.created_at) * 1e6)::bigint as created_us
from fairlead.jobs j
order by j.id desc limit %(limit)s
