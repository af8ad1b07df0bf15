-- begin_in_quarantine: give an attempt that is leased already its whole time from now on, and read it with
--                      the columns of claim, to run it in a quarantine process. A repeat does the same; no
--                      row: the token holds nothing.
-- locks: the work_queue row.
-- index: work_queue_pkey, jobs_pkey
with begun as (
    update fairlead.work_queue q
    set alone = true, deadline = greatest(q.deadline, fairlead._deadline(q.timeout))
    where q.job_id = %(job_id)s and q.token = %(token)s
    returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
)
select b.job_id, b.token, b.queue, b.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts) as attempt,
       j.max_attempts, extract(epoch from b.timeout)::float8 as timeout_seconds,
       extract(epoch from b.timeout_max)::float8 as timeout_max_seconds, b.alone,
       (fairlead._epoch_us(now()) - fairlead._epoch_us(b.runnable_at)) / 1e6::float8 as waited_seconds,
       case when j.id is null then 'gone'
            when j.cancel_requested_at is not null then 'cancelled'
            when j.expires_at <= now() then 'expired' end as doomed, j.checkpoint,
       coalesce(j.lone_deaths, 0) > 0 as died_alone
from begun b
left join lateral (
    select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
           j.max_attempts, j.cancel_requested_at, j.expires_at, j.lone_deaths,
           j.checkpoint
    from fairlead.jobs j where j.id = b.job_id offset 0) j on true
