-- counts: how many jobs are in each state, each counted up to one more than %(most)s; of those that did not succeed
--         the newest so many are told apart. What is pending is what is due and not in work_queue.
-- locks: none
-- index: jobs_lane, jobs_due, job_history_id; work_queue is shallow and read whole.
select (select count(*) from (
            select from fairlead.jobs j where j.run_at is null
            order by j.queue, j.tenant, j.rank, j.seq limit %(most)s + 1) c) as due,
       (select count(*) from (
            select from fairlead.jobs j where j.run_at is not null
            order by j.run_at limit %(most)s + 1) c) as scheduled,
       q.queued, q.running, q.completed,
       (select count(*) from (
            select from fairlead.job_history h where h.outcome = 'succeeded'
            order by h.id desc limit %(most)s + 1) c) as succeeded,
       u.failed, u.cancelled, u.expired, u.looked > %(most)s as unsuccessful_is_more,
       clock_timestamp() as now
from (
    select count(*) filter (where q.worker is null) as queued,
           count(*) filter (where q.worker is not null and not q.completed) as running,
           count(*) filter (where q.completed) as completed
    from fairlead.work_queue q) q
cross join (
    select count(*) as looked, count(*) filter (where c.outcome = 'failed') as failed,
           count(*) filter (where c.outcome = 'cancelled') as cancelled,
           count(*) filter (where c.outcome = 'expired') as expired
    from (
        select h.outcome from fairlead.job_history h
        where h.outcome in ('failed', 'cancelled', 'expired')
        order by h.id desc limit %(most)s + 1) c) u
