-- load_alone: read one attempt that is leased already, with the columns of claim, to run it alone.
-- locks: none: the lease is the parent's.
-- index: work_queue_pkey, jobs_pkey
select q.job_id, q.token, q.queue, q.tenant, j.kind, j.payload, j.headers, j.attempts + 1 as attempt,
       j.max_attempts, extract(epoch from q.timeout)::float8 as timeout_seconds, q.alone,
       extract(epoch from now() - q.runnable_at)::float8 as waited_seconds,
       case when j.id is null then 'gone'
            when j.cancel_requested_at is not null then 'cancelled' end as doomed
from fairlead.work_queue q
left join lateral (
    select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
           j.max_attempts, j.cancel_requested_at
    from fairlead.jobs j where j.id = q.job_id offset 0) j on true
where q.job_id = %(job_id)s and q.token = %(token)s
