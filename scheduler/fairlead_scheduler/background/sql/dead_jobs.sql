-- dead_jobs: how many jobs of each queue failed for good and were not redriven, within the history that is
--            kept, counted up to 10,000.
-- locks: none.
-- index: job_history_redrive
with recursive queue as (
    (select h.queue from fairlead.job_history_unsuccessful h
     where h.outcome = 'failed' and h.retried_as is null order by h.queue limit 1)
    union all
    select n.queue from queue q cross join lateral (
        select h.queue from fairlead.job_history_unsuccessful h
        where h.outcome = 'failed' and h.retried_as is null and h.queue > q.queue
        order by h.queue limit 1) n
)
select q.queue, c.dead from queue q cross join lateral (
    select count(*) as dead from (
        select 1 from fairlead.job_history_unsuccessful h
        where h.outcome = 'failed' and h.retried_as is null and h.queue = q.queue
        order by h.finished_at limit 10000) d) c
